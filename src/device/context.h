// A Context is where a model computes and who helps it. Each training, and each model in use, has
// one of its own and gives it to all that computes for it: a student on a GPU and its teacher on
// the CPU can live in one process.
#pragma once

#include <functional>
#include <memory>

#include <ATen/core/Tensor.h>

#include "config/train_config.h"
#include "device/fused_ops.h"

namespace kedge::device {

// Sums the tensor over all ranks, in place; every rank calls it equally often.
using SumOverRanks = std::function<void(at::Tensor&)>;

// Made once, before the model, and constant from then on: layers, losses and meters share it
// through a ContextPtr. Its functions are called by the thread that computes.
struct Context {
  at::Device device{at::kCPU};
  config::Precision precision = config::Precision::Fp32;  // never Auto
  FusedOps* fused = nullptr;                              // null: plain operations; outlives models
  SumOverRanks norm_sum = {};  // BatchNorm over the batch of all ranks; empty: each for itself
};

using ContextPtr = std::shared_ptr<const Context>;

}  // namespace kedge::device
