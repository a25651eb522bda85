// Cuts a batch out of images that are all in the GPU's memory: gathered, cropped, mirrored, their
// colours changed, painted over, normalised and converted in one kernel.
#pragma once

#include <memory>

#include <ATen/core/Tensor.h>

#include "core/result.h"
#include "device/plugin.h"

namespace kedge::kernels {

class PlaceImages {
 public:
  struct Normalise {
    at::Tensor scale;  // float [C]
    at::Tensor shift;
  };

  static Result<PlaceImages> make(device::Plugin& plugin);

  // `pixels_NHWC` is the whole set, 8-bit; `placements` the bytes of data::Placement [B], on the
  // device. Fills `out_BCHW`, float, bfloat16 or double, contiguous or channels-last, with
  // pixel * scale + shift: the same bits as data::render() and two float32 operations give.
  void operator()(const at::Tensor& pixels_NHWC, const at::Tensor& placements,
                  const Normalise& normalise, at::Tensor& out_BCHW);

 private:
  PlaceImages() = default;

  device::Kernel& kernel_for(at::ScalarType type);

  std::unique_ptr<device::Kernel> to_float_;
  std::unique_ptr<device::Kernel> to_bfloat16_;
  std::unique_ptr<device::Kernel> to_double_;
};

}  // namespace kedge::kernels
