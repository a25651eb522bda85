// Histograms of tensors, for those who watch weights and gradients (track.watch).
#pragma once

#include <cstdint>
#include <string>

#include <ATen/core/Tensor.h>

#include "track/run.h"

namespace kedge::train {

// 64 equal bins from the smallest finite value to the largest. Waits for the device.
void log_histogram(track::Run& run, const std::string& key, std::int64_t step,
                   const at::Tensor& tensor);

}  // namespace kedge::train
