// Decodes JPEG files with the help of a GPU.
#pragma once

#include <cstdint>
#include <span>

#include <ATen/core/Tensor.h>
#include <c10/core/Stream.h>

namespace kedge::device {

// One file at a time; several engines work side by side, each on its own stream.
class JpegEngine {
 public:
  virtual ~JpegEngine() = default;

  virtual c10::Stream stream() const = 0;

  // Asks for the file's components as they were coded, without smoothing: 8-bit planes [H, W] on
  // the device, one (grey) or three. False: it cannot.
  virtual bool read(std::span<const std::uint8_t> file, std::span<const at::Tensor> planes) = 0;

  // Sleeps until its stream has done all that it was asked for. False: something failed.
  virtual bool wait() = 0;
};

}  // namespace kedge::device
