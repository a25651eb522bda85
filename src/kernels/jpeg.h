// JPEG files with the GPU's help: the same pixels that libjpeg-turbo gives, bit by bit. The engine
// does what takes longest, Huffman codes and cosines, exactly as libjpeg-turbo does. Colours are
// smoothed and turned into RGB by a kernel of our own, because the engine has another way.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "core/result.h"
#include "data/decode.h"
#include "data/jpeg_header.h"
#include "device/jpeg_engine.h"
#include "device/plugin.h"

namespace kedge::kernels {

class JpegDecoder : public data::JpegHelper {
 public:
  // Unavailable where the plugin has no engine.
  static Result<std::unique_ptr<JpegDecoder>> make(device::Plugin& plugin);

  bool decode(std::span<const std::uint8_t> file, data::Image& image) override;

 private:
  // What one thread works with at a time.
  struct Lane {
    std::unique_ptr<device::JpegEngine> engine;
    at::Tensor on_host;
  };

  JpegDecoder(device::Plugin& plugin, std::unique_ptr<device::Kernel> colour)
      : plugin_(plugin), colour_kernel_(std::move(colour)) {}

  Result<Lane> take_lane();
  void give_back(Lane lane);

  bool decode_in(Lane& lane, const data::JpegHeader& header, std::span<const std::uint8_t> file,
                 data::Image& image);
  at::Tensor colour(const data::JpegHeader& header, const std::vector<at::Tensor>& planes);

  device::Plugin& plugin_;
  std::unique_ptr<device::Kernel> colour_kernel_;
  std::mutex mutex_;
  std::vector<Lane> free_;
};

}  // namespace kedge::kernels
