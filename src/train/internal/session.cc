#include "train/internal/session.h"

#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <torch/types.h>

#include "config/render.h"
#include "core/log.h"
#include "ranks/rank_board.h"
#include "train/internal/random_state.h"
#include "train/internal/restore.h"
#include "train/internal/staging.h"
#include "train/saved_model.h"

namespace kedge::train {

using checkpoint::Spread;

Session::Session(SessionParts parts)
    : parts_(std::move(parts)),
      config_(*parts_.config),
      state_(Best(is_more_better(), 0),
             Best(more_is_better(config_.early_stop.goal, config_.early_stop.metric),
                  config_.early_stop.delta)) {
  if (!is_alone()) {
    agreement_.emplace(parts_.group);
  }
}

bool Session::is_more_better() const {
  return more_is_better(config_.checkpoint.goal, parts_.best_metric);
}

void Session::open(Checkpoints& checkpoints, Replicas* replicas,
                   std::function<Result<void>()> before_save) {
  checkpoints_ = &checkpoints;
  replicas_ = replicas;
  before_save_ = std::move(before_save);
  checkpoints.reserve(parts_.step.state());
}

std::uint64_t Session::state_bytes() {
  std::uint64_t bytes = 0;
  for (const StateTensors& part : parts_.step.state()) {
    for (const auto& [name, tensor] : part.tensors) {
      bytes += tensor.nbytes();
    }
  }
  return bytes;
}

std::optional<std::string> Session::find_stop_reason(std::int64_t step, bool is_last) const {
  const double reserve_s = checkpoints_->reserve_s();
  return is_last ? parts_.stop.reason(reserve_s) : parts_.stop.reason(step, reserve_s);
}

void Session::ask_others(bool is_last) {
  if (is_alone()) {
    return;
  }
  stop_reason_ = find_stop_reason(state_.step + 1, is_last);
  agreement_->start({.stop = stop_reason_.has_value(),
                     .save = checkpoints_->is_due(state_.step + 1),
                     .keep = is_replica_due(state_.step + 1)});
}

Agreement::Wish Session::take_answer(bool is_last) {
  if (agreement_) {
    return agreement_->take();
  }
  stop_reason_ = find_stop_reason(state_.step, is_last);
  return {.stop = stop_reason_.has_value(),
          .save = checkpoints_->is_due(state_.step),
          .keep = is_replica_due(state_.step)};
}

bool Session::is_replica_due(std::int64_t step) const {
  return replicas_ != nullptr && replicas_->is_due(step);
}

Result<void> Session::at_step_boundary(bool is_last) {
  parts_.crash.after_step(state_.step);
  if (parts_.run.is_lost()) {
    return fail(ErrorKind::Unavailable, "another process has taken this run over",
                "this one stops without saving; the other goes on");
  }
  ranks::show_step(state_.epoch, state_.step);
  const Agreement::Wish answer = take_answer(is_last);
  if (answer.stop) {
    return stop(stop_reason_.value_or("another rank was asked to stop"));
  }
  // After the last batch the end of the epoch is about to be saved, with its score.
  if (is_last) {
    return {};
  }
  if (answer.save) {
    KEDGE_TRY(save(std::nullopt));
  }
  return answer.keep ? keep_in_memory() : Result<void>();
}

Result<void> Session::after_epoch(bool is_wanted, std::optional<double> score) {
  bool is_due = checkpoints_->is_due_after_epoch(state_.step, state_.epoch);
  if (agreement_) {
    is_due = agreement_->agree({.save = is_due}).save;
  }
  return is_wanted || is_due ? save(score) : Result<void>();
}

Result<void> Session::stop_if_asked() {
  stop_reason_ = find_stop_reason(state_.step, /*is_last=*/false);
  const bool is_asked = agreement_ ? agreement_->agree({.stop = stop_reason_.has_value()}).stop
                                   : stop_reason_.has_value();
  if (is_asked) {
    return stop(stop_reason_.value_or("another rank was asked to stop"));
  }
  return {};
}

void Session::move_counts_to_first() {
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

// What a checkpoint holds: the state of all ranks.
std::vector<StateTensors> Session::joined_tensors() {
  if (!is_alone()) {
    parts_.step.meters().move_to_first(parts_.group);
  }
  std::vector<StateTensors> parts = parts_.step.state();
  for (StateTensors& part : parts) {
    if (is_alone() || part.spread != Spread::PerRank) {
      continue;
    }
    const nn::NamedTensors own = std::exchange(part.tensors, {});
    for (const auto& [name, tensor] : own) {
      const at::Tensor all = parts_.group.all_gather(tensor);
      for (std::int64_t rank = 0; rank < parts_.group.size(); ++rank) {
        part.tensors.emplace_back(rank == 0 ? name : fmt::format("{}.{}", name, rank), all[rank]);
      }
    }
  }
  return parts;
}

// The state that is not tensors.
nlohmann::json Session::describe(std::optional<double> score) {
  state_.schedule = parts_.learning_rate.schedule().state();
  nlohmann::json state = state_.to_json();
  state["run"] = parts_.run.id();
  state["attempt"] = parts_.run.attempt();
  state["seed"] = config_.seed;
  state["score"] = score ? nlohmann::json(*score) : nlohmann::json(nullptr);
  state["more_is_better"] = is_more_better();
  state["best"]["metric"] = parts_.best_metric;
  state["config"] = config::render_effective(parts_.config);
  state["config_hash"] = parts_.config.hash();
  state["data_digest"] = parts_.data_digest;
  state["preparation"] = parts_.preparation.to_json();
  if (parts_.base.has_value()) {
    state["base"] = to_json(*parts_.base);
  }
  return state;
}

// A collective: the state of all ranks, on rank 0.
Result<Snapshot> Session::take_snapshot(std::optional<double> score) {
  KEDGE_TRY(before_save_());
  move_counts_to_first();
  parts_.step.parts().strategy.broadcast_buffers();
  return Snapshot{.tensors = joined_tensors(),
                  .state = describe(score),
                  .step = state_.step,
                  .epoch = state_.epoch};
}

Result<void> Session::save(std::optional<double> score) {
  const ranks::TimedPhase saving(ranks::RankPhase::Saving, save_us_);
  return checkpoints_->save(KEDGE_TRY(take_snapshot(score)));
}

Result<void> Session::keep_in_memory() {
  const ranks::TimedPhase saving(ranks::RankPhase::Saving, save_us_);
  replicas_->keep(KEDGE_TRY(take_snapshot(std::nullopt)));
  return {};
}

Result<void> Session::write(const Path& path) {
  Staging staging(parts_.step.parts().context->device);
  return checkpoint::write_checkpoint(path, staging.copy(parts_.step.state()),
                                      describe(std::nullopt));
}

Result<void> Session::restore(const checkpoint::Checkpoint& saved,
                              const std::set<std::string>& dropped) {
  KEDGE_TRY(check_base(saved.state(), parts_.base));
  TrainerState restored = state_;
  KEDGE_TRY(restored.restore(saved.state()));
  if (dropped.contains("position")) {
    restored.batch = 0;
    restored.position = 0;
  }
  if (dropped.contains("best")) {
    restored.best = state_.best;
  }
  state_ = std::move(restored);
  if (!dropped.contains("schedule")) {
    parts_.learning_rate.schedule().restore(state_.schedule);
  }
  for (const StateTensors& part : parts_.step.state()) {
    if (part.spread == Spread::PerRank || dropped.contains(part.name)) {
      continue;
    }
    if (!saved.has_part(part.name)) {
      return fail(ErrorKind::Usage, fmt::format("the checkpoint holds no {}", part.name),
                  "the config asks for what the saved run did not have; set it back, or start a "
                  "new run with resume=never");
    }
    KEDGE_TRY(copy_into(part.tensors, saved.part(part.name)));
  }
  if (!dropped.contains("rng") && saved.has_part("rng")) {
    KEDGE_TRY(restore_random_state(saved.part("rng"), parts_.step.parts().context->device));
  }
  return {};
}

Result<void> Session::broadcast_state(const checkpoint::Checkpoint* restored) {
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
  for (const StateTensors& part : parts_.step.state()) {
    if (part.spread != Spread::Replicated) {
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
  return has_random ? broadcast_random_state(group, restored, parts_.step.parts().context->device)
                    : Result<void>();
}

std::unexpected<Error> Session::stop(const std::string& reason) {
  parts_.reporter.end_bar();
  const std::string where = fmt::format("{}: stopped at step {} (epoch {}, batch {})", reason,
                                        state_.step, state_.epoch + 1, state_.batch);
  if (!config_.checkpoint.enabled) {
    return fail(ErrorKind::Unavailable, where + "; nothing is saved: checkpoint.enabled is false");
  }
  auto saved = save(std::nullopt);
  if (saved) {
    saved = checkpoints_->finish();
  }
  if (!saved && !checkpoints_->has_saved()) {
    return fail(saved.error().kind, fmt::format("{}; {}", where, saved.error().message),
                saved.error().hint);
  }
  if (!saved) {
    // Work since the last good checkpoint is lost, but running again still gets further.
    warn("{}; the last good checkpoint is of step {}", saved.error().message,
         checkpoints_->durable_step());
    return fail(ErrorKind::Interrupted, where, "run the same command again to go on");
  }
  return fail(ErrorKind::Interrupted, where + ", all saved", "run the same command again to go on");
}

}  // namespace kedge::train
