// An image as the model will see it, before any batch is made.
#pragma once

#include "config/config.h"
#include "core/result.h"
#include "data/dataset.h"
#include "data/pipeline.h"

namespace kedge::train {

// The first sample, or with data.on_error: skip the first that can be decoded, after the pipeline.
Result<data::Image> first_image(const config::Config& config, const data::Dataset& dataset,
                                const data::Pipeline& pipeline);

}  // namespace kedge::train
