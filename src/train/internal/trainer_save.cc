// The trainer's saving and restoring; the loop is in trainer.cc.
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
#include "train/internal/trainer.h"
#include "train/saved_model.h"

namespace kedge::train {

// All that a resumed run needs, live; only the generators' states are copies.
std::vector<StateTensors> Trainer::tensors() {
  std::vector<StateTensors> groups = {{"model", parameters_and_buffers(parts_.model)},
                                      {"optimizer", parts_.optimizer.state()},
                                      {"meters", meters_.state()},
                                      {"rng", random_state(parts_.context->device)}};
  if (ema_) {
    groups.push_back({"ema", ema_->state()});
  }
  if (scaler_) {
    groups.push_back({"loss_scaler", scaler_->state()});
  }
  return groups;
}

std::uint64_t Trainer::state_bytes() {
  std::uint64_t bytes = 0;
  for (const StateTensors& group : tensors()) {
    for (const auto& [name, tensor] : group.tensors) {
      bytes += tensor.nbytes();
    }
  }
  return bytes;
}

// The state that is not tensors.
nlohmann::json Trainer::describe(std::optional<double> score) {
  state_.schedule = parts_.learning_rate.schedule().state();
  nlohmann::json state = state_.to_json();
  state["run"] = parts_.run.id();
  state["attempt"] = parts_.run.attempt();
  state["seed"] = config_.seed;
  state["score"] = score ? nlohmann::json(*score) : nlohmann::json(nullptr);
  state["more_is_better"] = is_more_better();
  state["best"]["metric"] = best_metric_;
  state["config"] = config::render_effective(parts_.config);
  state["config_hash"] = parts_.config.hash();
  state["data_digest"] = parts_.data_digest;
  state["preparation"] = parts_.preparation.to_json();
  return state;
}

// A collective: the state of all ranks, on rank 0.
Result<Snapshot> Trainer::take_snapshot(std::optional<double> score) {
  // What was logged up to this step must be in the log before a checkpoint says it is done.
  KEDGE_TRY(take_logged_loss());
  move_counts_to_first();
  broadcast_buffers();
  if (state_.batch > 0) {
    state_.epoch_seconds = epoch_seconds_before_ + epoch_watch_.seconds();
  }
  return Snapshot{.tensors = joined_tensors(),
                  .state = describe(score),
                  .step = state_.step,
                  .epoch = state_.epoch};
}

Result<void> Trainer::save(std::optional<double> score) {
  const ranks::TimedPhase saving(ranks::RankPhase::Saving, save_us_);
  return checkpoints_->save(KEDGE_TRY(take_snapshot(score)));
}

Result<void> Trainer::keep_in_memory() {
  const ranks::TimedPhase saving(ranks::RankPhase::Saving, save_us_);
  replicas_->keep(KEDGE_TRY(take_snapshot(std::nullopt)));
  return {};
}

Result<void> Trainer::write(const Path& path) {
  Staging staging(parts_.context->device);
  return checkpoint::write_checkpoint(path, staging.copy(tensors()), describe(std::nullopt));
}

Result<void> Trainer::restore(const checkpoint::Checkpoint& saved,
                              const std::set<std::string>& dropped) {
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
  for (const StateTensors& group : tensors()) {
    if (group.name == "rng" || dropped.contains(group.name)) {
      continue;
    }
    if (!saved.has_part(group.name)) {
      return fail(ErrorKind::Usage, fmt::format("the checkpoint holds no {}", group.name),
                  "the config asks for what the saved run did not have; set it back, or start a "
                  "new run with resume=never");
    }
    KEDGE_TRY(copy_into(group.tensors, saved.part(group.name)));
  }
  if (!dropped.contains("rng") && saved.has_part("rng")) {
    KEDGE_TRY(restore_random_state(saved.part("rng"), parts_.context->device));
  }
  return {};
}

// Everything is saved, and whoever started this process is told to do it again (exit 85).
std::unexpected<Error> Trainer::stop(const std::string& reason) {
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
