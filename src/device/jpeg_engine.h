// Decodes JPEG files with the help of a GPU.
#pragma once

#include <cstdint>
#include <span>

#include <ATen/core/Tensor.h>
#include <c10/core/Stream.h>

namespace kedge::device {

// One file at a time, from one thread at a time; several engines work side by side, each on its own
// stream. After a failure it can be asked again.
class JpegEngine {
 public:
  virtual ~JpegEngine() = default;

  virtual c10::Stream stream() const = 0;

  // Asks for the file's components as they were coded, without smoothing: 8-bit planes [H, W] on
  // the device, one (grey) or three. Returns before they are there; `file` must stay until wait().
  // False: it cannot, and has written nothing that counts.
  virtual bool read(std::span<const std::uint8_t> file, std::span<const at::Tensor> planes) = 0;

  // Sleeps until its stream has done all that it was asked for. False: something failed.
  virtual bool wait() = 0;
};

}  // namespace kedge::device
