#include "train/internal/trainer.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "device/device.h"
#include "ranks/rank_board.h"
#include "train/internal/gradients.h"
#include "train/internal/nonfinite.h"

namespace kedge::train {
namespace {

nn::NamedTensors trainable_parameters(const nn::Model& model) {
  nn::NamedTensors trainable;
  for (auto& named : model.parameters()) {
    if (named.second.requires_grad()) {
      trainable.push_back(std::move(named));
    }
  }
  return trainable;
}

std::string default_best_metric(const TrainerParts& parts) {
  if (parts.evaluator == nullptr) {
    return "train/loss";
  }
  return parts.preparation.task.is_language() ? "val/loss" : "val/accuracy";
}

}  // namespace

Trainer::Trainer(TrainerParts parts)
    : parts_(parts),
      config_(*parts.config),
      trainable_(trainable_parameters(parts.model)),
      meters_({.context = parts.context,
               .classes = config_.train.mixup > 0 ? 0 : parts.preparation.task.classes,
               .is_language = parts.preparation.task.is_language()}),
      best_metric_(config_.checkpoint.metric.empty() ? default_best_metric(parts)
                                                     : config_.checkpoint.metric),
      state_(Best(is_more_better(), 0),
             Best(more_is_better(config_.early_stop.goal, config_.early_stop.metric),
                  config_.early_stop.delta)),
      graphs_(why_not_captured() ? nullptr : parts.capture_with) {
  if (config_.ema.decay > 0) {
    ema_.emplace(parts.model.parameters(), parts.model.buffers());
  }
  if (parts.context->precision == config::Precision::Fp16) {
    scaler_.emplace(parts.context->device);
  }
  mixup_lambda_ = at::zeros({}, at::TensorOptions(at::kFloat).device(parts.context->device));
  if (!may_read_back()) {
    rate_.on_device = at::zeros_like(mixup_lambda_);
    if (scaler_ && parts.optimizer.can_skip_on_device()) {
      rate_.found_inf = scaler_->found_inf();
    }
  }
  if (!is_alone()) {
    const config::DistConfig& dist = config_.dist;
    parallel_.emplace(
        parts.group, trainable_,
        DataParallelOptions{.bucket_bytes = dist.bucket.value,
                            .is_bf16 = dist.compression == config::Compression::Bf16});
    agreement_.emplace(parts.group);
  }
}

Result<TrainSummary> Trainer::run(Checkpoints& checkpoints, Replicas* replicas) {
  checkpoints_ = &checkpoints;
  replicas_ = replicas;
  checkpoints.reserve(tensors());
  ranks::show_phase(ranks::RankPhase::Compute);
  const Stopwatch watch;
  while (!is_over()) {
    if (parts_.crash.epoch() == state_.epoch + 1) {
      // Who tries a crash wants to see the last epoch's checkpoint used.
      KEDGE_TRY(checkpoints_->finish());
      parts_.crash.at_epoch(state_.epoch + 1);
    }
    KEDGE_TRY(train_epoch());
    KEDGE_TRY(end_epoch());
    if (!is_over() && should_stop_here()) {
      return stop(stop_reason_.value_or("another rank was asked to stop"));
    }
  }
  const double train_seconds = std::max(state_.train_seconds, 1e-9);
  return TrainSummary{
      .epochs = state_.epoch,
      .steps = state_.step,
      .best_metric = best_metric_,
      .best_value = state_.best.value(),
      .best_epoch = state_.best_epoch,
      .last = last_metrics_,
      .seconds = watch.seconds(),
      .samples_per_s = static_cast<double>(state_.samples) / train_seconds,
      .epoch_seconds_mean =
          state_.train_seconds / static_cast<double>(std::max<std::int64_t>(state_.epoch, 1)),
      .skipped = state_.skipped,
      .is_stopped_early = is_stopped_early()};
}

Result<void> Trainer::train_epoch() {
  parts_.train_loader.start_epoch(state_.epoch, state_.batch, state_.position);
  const std::int64_t batches = parts_.train_loader.batches_per_epoch();
  const std::int64_t accumulate = config_.train.accumulate;
  const bool is_language = parts_.preparation.task.is_language();
  parts_.reporter.start_bar(fmt::format("epoch {}/{}", state_.epoch + 1, config_.train.epochs),
                            batches, is_language ? "tokens" : "samples", state_.batch);
  parts_.model.set_training(true);
  epoch_watch_.restart();
  epoch_seconds_before_ = state_.epoch_seconds;
  if (state_.batch == 0) {
    meters_.reset();
  }
  std::int64_t items = 0;
  while (!is_out_of_steps()) {
    const ranks::TimedPhase training(ranks::RankPhase::Compute, ranks::own_slot().train_us);
    const auto batch = KEDGE_TRY(next_batch());
    if (batch == nullptr) {
      break;
    }
    const std::int64_t index = state_.batch;
    const bool is_last_micro_batch = (index + 1) % accumulate == 0 || index + 1 == batches;
    if (is_last_micro_batch) {
      ask_others();
    }
    // The last step of an epoch may hold fewer micro-batches; its mean is over those.
    const std::int64_t first_micro_batch = index / accumulate * accumulate;
    KEDGE_TRY(
        learn(*batch, std::min(accumulate, batches - first_micro_batch), is_last_micro_batch));
    state_.see(*batch);
    items += batch->count * std::max<std::int64_t>(batch->context, 1);
    if (is_last_micro_batch) {
      KEDGE_TRY(at_step_boundary());
    }
    parts_.reporter.advance(state_.batch, items, shown_loss_);
  }
  KEDGE_TRY(take_logged_loss());
  device::synchronize(parts_.context->device);
  parts_.reporter.end_bar();
  return {};
}

// The only place inside an epoch where training is saved or stops: no gradients are pending.
Result<void> Trainer::at_step_boundary() {
  parts_.crash.after_step(state_.step);
  if (parts_.run.is_lost()) {
    return fail(ErrorKind::Unavailable, "another process has taken this run over",
                "this one stops without saving; the other goes on");
  }
  ranks::show_step(state_.epoch, state_.step);
  const Agreement::Wish answer = take_answer();
  if (answer.stop) {
    return stop(stop_reason_.value_or("another rank was asked to stop"));
  }
  // After the last batch the end of the epoch is about to be saved, with its score.
  if (state_.batch == parts_.train_loader.batches_per_epoch()) {
    return {};
  }
  if (answer.save) {
    KEDGE_TRY(save(std::nullopt));
  }
  return answer.keep ? keep_in_memory() : Result<void>();
}

Result<void> Trainer::take_logged_loss() {
  const auto reading = logged_loss_.take();
  if (!reading) {
    return {};
  }
  shown_loss_ = reading->value;
  const double lr = parts_.learning_rate.at(reading->step - 1, state_.epoch);
  const std::array<track::Scalar, 2> scalars = {{{"train/step_loss", reading->value}, {"lr", lr}}};
  parts_.run.log(reading->step, scalars);
  if (config_.train.stop_on_nan && !std::isfinite(reading->value)) {
    return std::unexpected(describe_nonfinite(
        parts_.model, {},
        fmt::format("the loss of step {} (epoch {})", reading->step, state_.epoch + 1)));
  }
  return {};
}

// A GPU is only asked at log points, and the last step's damage first shows in the validation.
Result<void> Trainer::check_finite(const Metrics& metrics) const {
  for (const char* name : {"train/loss", "val/loss"}) {
    const auto found = metrics.find(name);
    if (config_.train.stop_on_nan && found != metrics.end() && !std::isfinite(found->second)) {
      return std::unexpected(describe_nonfinite(
          parts_.model, {},
          fmt::format("{} after step {} (epoch {})", name, state_.step, state_.epoch + 1)));
    }
  }
  return {};
}

Result<void> Trainer::end_epoch() {
  state_.epoch_seconds = epoch_seconds_before_ + epoch_watch_.seconds();
  move_counts_to_first();
  Metrics metrics = meters_.read("train/", parts_.group);
  const std::int64_t every = config_.train.eval_every;
  const std::int64_t finished = state_.epoch + 1;
  const bool is_last = finished >= config_.train.epochs || is_out_of_steps();
  std::optional<double> val_seconds;
  if (parts_.evaluator != nullptr && (is_last || (every > 0 && finished % every == 0))) {
    const Stopwatch watch;
    metrics.merge(KEDGE_TRY(validate()));
    val_seconds = watch.seconds();
  }
  KEDGE_TRY(check_finite(metrics));
  std::optional<double> score;
  bool is_best = false;
  if (const auto found = metrics.find(best_metric_); found != metrics.end()) {
    score = found->second;
    is_best = state_.best.observe(*score);
    state_.best_epoch = is_best ? finished : state_.best_epoch;
  }
  record_epoch(metrics, is_best, val_seconds);
  state_.end_epoch();
  state_.add_to_history(metrics);
  if (const auto found = metrics.find(config_.schedule.metric); found != metrics.end()) {
    parts_.learning_rate.schedule().observe(
        found->second, more_is_better(config::Goal::Auto, config_.schedule.metric));
  }
  consider_stopping(metrics);
  bool is_due = checkpoints_->is_due_after_epoch(state_.step, state_.epoch);
  if (agreement_) {
    is_due = agreement_->agree({.save = is_due}).save;
  }
  if (is_best || is_over() || is_due) {
    KEDGE_TRY(save(score));
  }
  return is_over() ? checkpoints_->finish() : Result<void>();
}

void Trainer::record_epoch(const Metrics& metrics, bool is_best,
                           std::optional<double> val_seconds) {
  const double seconds = state_.epoch_seconds;
  const EpochFacts facts = {
      .epoch = state_.epoch + 1,
      .epochs = config_.train.epochs,
      .step = state_.step,
      .seconds = seconds,
      .samples_per_s = static_cast<double>(state_.epoch_samples) / std::max(seconds, 1e-9),
      .lr = parts_.learning_rate.at(std::max<std::int64_t>(state_.step - 1, 0), state_.epoch),
      .is_best = is_best};
  parts_.reporter.epoch(facts, metrics);
  std::vector<track::Scalar> scalars;
  for (const auto& [name, value] : metrics) {
    scalars.push_back({name, value});
  }
  scalars.push_back({"lr", facts.lr});
  scalars.push_back({"epoch_seconds", seconds});
  if (val_seconds) {
    scalars.push_back({"val_seconds", *val_seconds});
  }
  parts_.run.log_epoch(facts.epoch, facts.step, scalars);
  last_metrics_ = metrics;
}

void Trainer::consider_stopping(const Metrics& metrics) {
  const auto found = metrics.find(config_.early_stop.metric);
  if (config_.early_stop.patience == 0 || found == metrics.end()) {
    return;
  }
  state_.early_stop.observe(found->second);
  if (is_stopped_early()) {
    parts_.reporter.say(fmt::format("early stopping: {} has not improved for {} epochs",
                                    config_.early_stop.metric, state_.early_stop.since()));
  }
}

Result<Metrics> Trainer::validate() {
  const ranks::TimedPhase validating(ranks::RankPhase::Validating, validate_us_);
  broadcast_buffers();
  if (ema_) {
    ema_->apply();
  }
  auto evaluation = parts_.evaluator->run(parts_.model, "val/", parts_.group);
  if (ema_) {
    ema_->restore();
  }
  if (!evaluation && evaluation.error().kind == ErrorKind::Interrupted) {
    // The epoch's batches are learnt and saved as such; a resumed run begins with the validation.
    return stop(evaluation.error().message);
  }
  if (!evaluation) {
    return std::unexpected(std::move(evaluation).error());
  }
  state_.epoch_skipped += evaluation->skipped;
  parts_.reporter.evaluation(state_.step, *evaluation, parts_.preparation, *parts_.val);
  return std::move(evaluation->metrics);
}

bool Trainer::is_over() const {
  return state_.epoch >= config_.train.epochs || is_out_of_steps() || is_stopped_early();
}

bool Trainer::is_out_of_steps() const {
  return config_.train.max_steps > 0 && state_.step >= config_.train.max_steps;
}

bool Trainer::is_stopped_early() const {
  return config_.early_stop.patience > 0 &&
         state_.early_stop.since() >= config_.early_stop.patience;
}

}  // namespace kedge::train
