// A Strategy is how the ranks of one training divide a model and its data between them. The step
// asks it at the places where ranks must act together and knows nothing else of them; a new one is
// a folder here that registers itself. The room knows models and collectives, never data sets,
// optimizers or the loop.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <ATen/core/Tensor.h>

#include "config/dist_config.h"
#include "core/registry.h"
#include "dist/process_group.h"
#include "nn/model.h"

namespace kedge::parallel {

// What a strategy works with. All of it outlives the strategy.
struct Parts {
  const config::DistConfig& config;
  dist::ProcessGroup& world;
  nn::Model& model;  // on its device, with the parameters frozen that are not trained
};

class Strategy {
 public:
  virtual ~Strategy() = default;

  // The ranks that divide each global batch: every one reads its own samples. Its rank and size are
  // this rank's place among them.
  virtual dist::ProcessGroup& data_group() = 0;

  // The model's scores, whoever has its parts.
  virtual at::Tensor forward(const nn::ModelInput& input) = 0;

  // As of Model.
  virtual bool ends_in_linear() const = 0;
  virtual nn::Head forward_to_head(const nn::ModelInput& input) = 0;

  // Before the backward pass that completes the gradients of a step; without it, gradients
  // only accumulate on this rank.
  virtual void start_backward() = 0;

  // After it, on every rank, also on one that had no sample: gradients are those of the whole
  // global batch.
  virtual void finish_backward() = 0;

  // Forgets a backward pass that was started and not finished.
  virtual void drop_backward() = 0;

  // The 2-norm of all gradients, from that of the gradients which this rank holds. Never waits for
  // the device.
  virtual at::Tensor global_norm(const at::Tensor& own_norm) = 0;

  // `found_inf` holds 1 on every rank where it does on one: all skip a step or none does.
  virtual void agree_on_overflow(const at::Tensor& found_inf) = 0;

  // A collective: every rank's buffers (BatchNorm's running statistics) become the first rank's.
  virtual void broadcast_buffers() = 0;

  // Why a step of so many micro-batches cannot be captured; nothing: it can.
  virtual std::optional<std::string> why_not_captured(std::int64_t micro_batches) const = 0;
};

using Strategies = Registry<Strategy, Parts>;

}  // namespace kedge::parallel
