// What a model found of preferred and other answers before it was trained: what preference training
// holds it to. Computed once, and then a field of the samples.
#pragma once

#include <memory>

#include "config/config.h"
#include "core/result.h"
#include "data/dataset.h"
#include "device/context.h"
#include "dist/process_group.h"
#include "nn/model.h"
#include "train/preparation.h"

namespace kedge::train {

struct ReferenceParts {
  const config::Config& config;
  const Preparation& preparation;
  nn::Model& model;  // as it was before training; its adapters are left out
  device::ContextPtr context;
  dist::ProcessGroup& group;
};

// Whether samples are pairs, which need it.
bool needs_reference(const data::Dataset& dataset);

// A collective: the samples with data::kPairReference. The ranks divide the work. Usage: the model
// has no head that tokens can be asked of.
Result<std::unique_ptr<data::Dataset>> with_reference(std::unique_ptr<data::Dataset> pairs,
                                                      const ReferenceParts& parts);

// The model that the config's training began with, for those who have only what it became.
Result<std::unique_ptr<nn::Model>> make_first_model(const config::Config& config,
                                                    const Preparation& preparation,
                                                    const device::ContextPtr& context);

}  // namespace kedge::train
