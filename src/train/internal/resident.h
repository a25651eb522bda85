// A whole image set in the memory of the device that trains: 8-bit pixels, after the steps of the
// pipeline that give the same image every time. Batches then need only placements.
#pragma once

#include <optional>

#include <ATen/core/Tensor.h>

#include "core/result.h"
#include "data/dataset.h"
#include "data/image.h"
#include "data/pipeline.h"

namespace kedge::train {

struct Resident {
  at::Tensor pixels_NHWC;  // uint8
  data::ImageShape shape;  // of one image
};

// Why `dataset` cannot be resident, or nothing.
std::optional<std::string> why_not_resident(const data::Dataset& dataset,
                                            const data::Pipeline& pipeline);

// Reads and decodes every sample, with all threads.
Result<Resident> make_resident(const data::Dataset& dataset, const data::Pipeline& pipeline,
                               at::Device device);

}  // namespace kedge::train
