// The trainer's side of many ranks: what they sum, share and decide together.
#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <torch/types.h>
#include <torch/utils.h>

#include "ranks/rank_board.h"
#include "train/internal/random_state.h"
#include "train/internal/restore.h"
#include "train/internal/trainer.h"

namespace kedge::train {

Result<std::unique_ptr<data::Batch>> Trainer::next_batch() {
  const ranks::TimedPhase waiting(ranks::RankPhase::Data, ranks::own_slot().data_us);
  return parts_.train_loader.next();
}

// Before the work of a step, for the boundary at its end: the answers travel meanwhile.
void Trainer::ask_others() {
  if (is_alone()) {
    return;
  }
  const double reserve_s = checkpoints_->reserve_s();
  const bool is_last_batch = state_.batch + 1 == parts_.train_loader.batches_per_epoch();
  stop_reason_ = is_last_batch ? parts_.stop.reason(reserve_s)
                               : parts_.stop.reason(state_.step + 1, reserve_s);
  agreement_->start({.stop = stop_reason_.has_value(),
                     .save = checkpoints_->is_due(state_.step + 1),
                     .keep = is_replica_due(state_.step + 1)});
}

Agreement::Wish Trainer::take_answer() {
  if (agreement_) {
    return agreement_->take();
  }
  const double reserve_s = checkpoints_->reserve_s();
  const bool is_last_batch = state_.batch == parts_.train_loader.batches_per_epoch();
  stop_reason_ =
      is_last_batch ? parts_.stop.reason(reserve_s) : parts_.stop.reason(state_.step, reserve_s);
  return {.stop = stop_reason_.has_value(),
          .save = checkpoints_->is_due(state_.step),
          .keep = is_replica_due(state_.step)};
}

bool Trainer::is_replica_due(std::int64_t step) const {
  return replicas_ != nullptr && replicas_->is_due(step);
}

// Between two epochs.
bool Trainer::should_stop_here() {
  stop_reason_ = parts_.stop.reason(state_.step, checkpoints_->reserve_s());
  return agreement_ ? agreement_->agree({.stop = stop_reason_.has_value()}).stop
                    : stop_reason_.has_value();
}

// The mean over the samples of all ranks: each rank's mean counts by its samples.
void Trainer::set_batch_fraction(const data::Batch& batch) {
  if (is_alone()) {
    return;
  }
  auto total = static_cast<double>(batch.global_count);
  if (config_.data.on_error == config::OnError::Skip) {
    std::vector<double> counts = {static_cast<double>(batch.count)};
    dist::all_reduce_sum(parts_.group, counts);
    total = counts.front();
  }
  batch_fraction_ = total > 0 ? static_cast<double>(batch.count) / total : 0;
}

// Of the batch's loss; undefined on a rank that had no sample.
at::Tensor Trainer::mean_over_ranks(const at::Tensor& loss) {
  at::Tensor mean =
      torch::zeros({}, torch::TensorOptions(torch::kFloat64).device(parts_.context->device));
  if (loss.defined()) {
    mean.copy_(loss.to(at::kDouble) * batch_fraction_);
  }
  parts_.group.all_reduce_sum(mean);
  return mean;
}

void Trainer::broadcast_buffers() {
  if (is_alone()) {
    return;
  }
  for (auto& [name, buffer] : parts_.model.buffers()) {
    parts_.group.broadcast(buffer);
  }
}

// Every rank counts what it has seen. Before counts are used, rank 0's become those of all and the
// others begin anew, so that the sum over the ranks stays what it is.
void Trainer::move_counts_to_first() {
  if (is_alone()) {
    return;
  }
  at::Tensor counts = torch::tensor({state_.samples, state_.epoch_samples, state_.epoch_skipped,
                                     static_cast<std::int64_t>(state_.samples_hash)},
                                    torch::kInt64);
  parts_.group.all_reduce_sum(counts);
  if (!parts_.group.is_first()) {
    counts.zero_();
  }
  const auto* count = counts.const_data_ptr<std::int64_t>();
  state_.samples = count[0];
  state_.epoch_samples = count[1];
  state_.epoch_skipped = count[2];
  state_.samples_hash = static_cast<std::uint64_t>(count[3]);
}

// What a checkpoint holds: the state of all ranks. Weights and optimizer are the same on each; sums
// are added up; random generators are kept for every rank, "cpu" being rank 0's and "cpu.3" rank
// 3's.
std::vector<StateTensors> Trainer::joined_tensors() {
  if (is_alone()) {
    return tensors();
  }
  meters_.move_to_first(parts_.group);
  std::vector<StateTensors> groups = tensors();
  const auto found = std::ranges::find(groups, "rng", &StateTensors::name);
  const nn::NamedTensors own = std::exchange(found->tensors, {});
  for (const auto& [name, state] : own) {
    const at::Tensor all = parts_.group.all_gather(state);
    for (std::int64_t rank = 0; rank < parts_.group.size(); ++rank) {
      found->tensors.emplace_back(rank == 0 ? name : fmt::format("{}.{}", name, rank), all[rank]);
    }
  }
  return groups;
}

Result<void> Trainer::broadcast_state(const checkpoint::Checkpoint* restored) {
  if (is_alone()) {
    return {};
  }
  dist::ProcessGroup& group = parts_.group;
  state_.schedule = parts_.learning_rate.schedule().state();
  const std::string text = dist::broadcast_text(group, state_.to_json().dump());
  if (!group.is_first()) {
    KEDGE_TRY(state_.restore(nlohmann::json::parse(text)));
    parts_.learning_rate.schedule().restore(state_.schedule);
    state_.samples = 0;
    state_.epoch_samples = 0;
    state_.epoch_skipped = 0;
    state_.samples_hash = 0;
  }
  for (const StateTensors& part : tensors()) {
    if (part.name == "rng" || part.name == "meters") {
      continue;
    }
    for (const auto& [name, tensor] : part.tensors) {
      at::Tensor target = tensor.detach();
      group.broadcast(target);
    }
  }
  const bool has_random =
      dist::broadcast_text(group, restored != nullptr && restored->has_part("rng") ? "y" : "") ==
      "y";
  return has_random ? broadcast_random_state(group, restored, parts_.context->device)
                    : Result<void>();
}

}  // namespace kedge::train
