#include "train/internal/loop.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <torch/types.h>

#include "device/device.h"
#include "ranks/rank_board.h"
#include "train/internal/nonfinite.h"

namespace kedge::train {

std::string best_metric_of(const config::Config& config, const Task& task, bool has_validation) {
  if (!config.checkpoint.metric.empty()) {
    return config.checkpoint.metric;
  }
  return has_validation ? std::string(task.best_metric()) : "train/loss";
}

Loop::Loop(const LoopParts& parts)
    : parts_(parts), config_(parts.config), state_(parts.session.state()) {}

Result<void> Loop::before_save() {
  KEDGE_TRY(take_logged_loss());
  if (state_.batch > 0) {
    state_.epoch_seconds = epoch_seconds_before_ + epoch_watch_.seconds();
  }
  return {};
}

Result<TrainSummary> Loop::run() {
  ranks::show_phase(ranks::RankPhase::Compute);
  const Stopwatch watch;
  while (!is_over()) {
    if (parts_.crash.epoch() == state_.epoch + 1) {
      // Who tries a crash wants to see the last epoch's checkpoint used.
      KEDGE_TRY(parts_.session.finish());
      parts_.crash.at_epoch(state_.epoch + 1);
    }
    KEDGE_TRY(train_epoch());
    KEDGE_TRY(end_epoch());
    if (!is_over()) {
      KEDGE_TRY(parts_.session.stop_if_asked());
    }
  }
  const double train_seconds = std::max(state_.train_seconds, 1e-9);
  return TrainSummary{
      .epochs = state_.epoch,
      .steps = state_.step,
      .best_metric = parts_.session.best_metric(),
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

Result<void> Loop::train_epoch() {
  parts_.train_loader.start_epoch(state_.epoch, state_.batch, state_.position);
  const std::int64_t batches_per_epoch = parts_.train_loader.batches_per_epoch();
  parts_.reporter.start_bar(fmt::format("epoch {}/{}", state_.epoch + 1, config_.train.epochs),
                            batches_per_epoch, std::string(parts_.preparation.task->item_name()),
                            state_.batch, config_.train.epochs - state_.epoch - 1);
  parts_.step.parts().model.set_training(true);
  epoch_watch_.restart();
  epoch_seconds_before_ = state_.epoch_seconds;
  items_ = 0;
  if (state_.batch == 0) {
    parts_.step.meters().reset();
  }
  while (!is_out_of_steps() && !is_stopped_early()) {
    if (is_validation_due() && state_.batch < batches_per_epoch) {
      KEDGE_TRY(validate_inside_epoch());
      continue;
    }
    const ranks::TimedPhase training(ranks::RankPhase::Compute, ranks::own_slot().train_us);
    const MicroBatches batches = KEDGE_TRY(next_step());
    if (batches.empty()) {
      break;
    }
    KEDGE_TRY(learn(batches));
    KEDGE_TRY(parts_.session.at_step_boundary(state_.batch == batches_per_epoch));
  }
  KEDGE_TRY(take_logged_loss());
  device::synchronize(parts_.step.parts().context->device);
  parts_.reporter.end_bar();
  return {};
}

// All micro-batches of a step, because the weight of each depends on the samples of all. The last
// step of an epoch may hold fewer; none: the epoch is over.
Result<Loop::MicroBatches> Loop::next_step() {
  const ranks::TimedPhase waiting(ranks::RankPhase::Data, ranks::own_slot().data_us);
  MicroBatches batches;
  while (std::ssize(batches) < config_.train.accumulate) {
    auto batch = KEDGE_TRY(parts_.train_loader.next());
    if (batch == nullptr) {
      break;
    }
    batches.push_back(std::move(batch));
  }
  return batches;
}

// What counts in each micro-batch, on all ranks. Only where a rank cannot know what the others have
// is it asked.
std::vector<double> Loop::weigh(const MicroBatches& batches) {
  const bool is_alone = data_group().is_alone();
  const bool is_known = config_.data.on_error != config::OnError::Skip &&
                        batches.front()->find(data::kLossMask) == nullptr;
  std::vector<double> weights;
  for (const auto& batch : batches) {
    const bool is_own = is_alone || !is_known;
    weights.push_back(static_cast<double>(is_own ? loss_weight(*batch) : batch->global_count));
  }
  if (!is_alone && !is_known) {
    dist::all_reduce_sum(data_group(), weights);
  }
  return weights;
}

// The gradient of a step is that of the mean over all that counts in it, however its samples are
// divided into micro-batches and ranks: each micro-batch's own mean counts by its weight.
Result<void> Loop::learn(const MicroBatches& batches) {
  const std::vector<double> weights = weigh(batches);
  const double step_weight = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (std::size_t i = 0; i < batches.size(); ++i) {
    const data::Batch& batch = *batches[i];
    const bool is_last_micro_batch = i + 1 == batches.size();
    if (is_last_micro_batch) {
      parts_.session.ask_others(state_.batch + 1 == parts_.train_loader.batches_per_epoch());
    }
    const double weight = std::max(weights[i], 1.0);
    batch_fraction_ = static_cast<double>(loss_weight(batch)) / weight;
    const at::Tensor loss =
        KEDGE_TRY(parts_.step.run(batch, {.step = state_.step,
                                          .epoch = state_.epoch,
                                          .batches_per_step = step_weight / weight,
                                          .is_last_micro_batch = is_last_micro_batch,
                                          .batch_fraction = batch_fraction_}));
    if (loss.defined() && loss.is_cpu()) {
      shown_loss_ = loss.item<double>();
    }
    if (is_last_micro_batch) {
      KEDGE_TRY(log_loss(loss));
    }
    state_.see(batch);
    items_ += parts_.preparation.task->count_items(batch);
    parts_.reporter.advance(state_.batch, items_, shown_loss_);
  }
  return {};
}

// Of a step that is done.
Result<void> Loop::log_loss(const at::Tensor& loss) {
  const std::int64_t step = state_.step + 1;
  const bool is_alone = data_group().is_alone();
  if (step % config_.train.log_every == 0 && (loss.defined() || !is_alone)) {
    KEDGE_TRY(take_logged_loss());
    logged_loss_.start(is_alone ? loss : mean_over_ranks(loss), step);
  }
  state_.step = step;
  return {};
}

// Of the batch's loss; undefined on a rank that had no sample.
at::Tensor Loop::mean_over_ranks(const at::Tensor& loss) {
  const at::Device device = parts_.step.parts().context->device;
  at::Tensor mean = torch::zeros({}, torch::TensorOptions(torch::kFloat64).device(device));
  if (loss.defined()) {
    mean.copy_(loss.to(at::kDouble) * batch_fraction_);
  }
  data_group().all_reduce_sum(mean);
  return mean;
}

Result<void> Loop::take_logged_loss() {
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
        parts_.step.parts().model, {},
        fmt::format("the loss of step {} (epoch {})", reading->step, state_.epoch + 1)));
  }
  return {};
}

// A GPU is only asked at log points, and the last step's damage first shows in the validation.
Result<void> Loop::check_finite(const Metrics& metrics) const {
  for (const char* name : {"train/loss", "val/loss"}) {
    const auto found = metrics.find(name);
    if (config_.train.stop_on_nan && found != metrics.end() && !std::isfinite(found->second)) {
      return std::unexpected(describe_nonfinite(
          parts_.step.parts().model, {},
          fmt::format("{} after step {} (epoch {})", name, state_.step, state_.epoch + 1)));
    }
  }
  return {};
}

Loop::Judged Loop::judge(const Metrics& metrics) {
  const auto found = metrics.find(parts_.session.best_metric());
  if (found == metrics.end()) {
    return {};
  }
  const bool is_best = state_.best.observe(found->second);
  state_.best_epoch = is_best ? state_.epoch + 1 : state_.best_epoch;
  return {.score = found->second, .is_best = is_best};
}

// The schedule and early stopping may watch any metric.
void Loop::follow(const Metrics& metrics) {
  if (const auto found = metrics.find(config_.schedule.metric); found != metrics.end()) {
    parts_.learning_rate.schedule().observe(
        found->second, more_is_better(config::Goal::Auto, config_.schedule.metric));
  }
  consider_stopping(metrics);
}

bool Loop::is_validation_due() const {
  const std::int64_t every = config_.train.eval_steps;
  return parts_.evaluator != nullptr && every > 0 && state_.step > 0 && state_.step % every == 0 &&
         state_.validated_step != state_.step;
}

// A run that was stopped meanwhile begins with it again.
Result<void> Loop::validate_inside_epoch() {
  const Stopwatch watch;
  const Evaluation evaluation = KEDGE_TRY(validate());
  KEDGE_TRY(check_finite(evaluation.metrics));
  const Judged judged = judge(evaluation.metrics);
  parts_.reporter.validation(state_.step, evaluation.metrics, judged.is_best);
  std::vector<track::Scalar> scalars;
  for (const auto& [name, value] : evaluation.metrics) {
    scalars.push_back({name, value});
  }
  parts_.run.log(state_.step, scalars);
  follow(evaluation.metrics);
  if (judged.is_best) {
    KEDGE_TRY(parts_.session.save(judged.score));
  }
  parts_.step.parts().model.set_training(true);
  epoch_seconds_before_ -= watch.seconds();  // the epoch's are those of training
  return {};
}

Result<void> Loop::end_epoch() {
  state_.epoch_seconds = epoch_seconds_before_ + epoch_watch_.seconds();
  parts_.session.move_counts_to_first();
  Metrics metrics = parts_.step.meters().read("train/", data_group());
  const std::int64_t every = config_.train.eval_every;
  const std::int64_t finished = state_.epoch + 1;
  const bool is_last = finished >= config_.train.epochs || is_out_of_steps() || is_stopped_early();
  const bool is_wanted = is_last || is_validation_due() || (every > 0 && finished % every == 0);
  Metrics shown = metrics;
  std::optional<double> val_seconds;
  if (parts_.evaluator != nullptr && is_wanted) {
    if (state_.validated_step != state_.step || validated_.empty()) {  // else done a moment ago
      const Stopwatch watch;
      const Evaluation evaluation = KEDGE_TRY(validate());
      state_.epoch_skipped += evaluation.skipped;
      metrics.insert(evaluation.metrics.begin(), evaluation.metrics.end());
      val_seconds = watch.seconds();
    }
    shown.insert(validated_.begin(), validated_.end());
  }
  KEDGE_TRY(check_finite(metrics));
  const Judged judged = judge(metrics);
  record_epoch(shown, judged.is_best, val_seconds);
  state_.end_epoch();
  state_.add_to_history(shown);
  follow(metrics);
  KEDGE_TRY(parts_.session.after_epoch(judged.is_best || is_over(), judged.score));
  return is_over() ? parts_.session.finish() : Result<void>();
}

void Loop::record_epoch(const Metrics& metrics, bool is_best, std::optional<double> val_seconds) {
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

void Loop::consider_stopping(const Metrics& metrics) {
  const auto found = metrics.find(config_.early_stop.metric);
  if (config_.early_stop.patience == 0 || found == metrics.end()) {
    return;
  }
  state_.early_stop.observe(found->second);
  if (is_stopped_early()) {
    parts_.reporter.say(fmt::format("early stopping: {} has not improved for {} {}",
                                    config_.early_stop.metric, state_.early_stop.since(),
                                    config_.train.eval_steps > 0 ? "validations" : "epochs"));
  }
}

Result<Evaluation> Loop::validate() {
  const ranks::TimedPhase validating(ranks::RankPhase::Validating, validate_us_);
  parts_.step.parts().strategy.broadcast_buffers();
  Ema* const ema = parts_.step.ema();
  if (ema != nullptr) {
    ema->apply();
  }
  auto evaluation = parts_.evaluator->run(parts_.step.parts().model, "val/", data_group());
  if (ema != nullptr) {
    ema->restore();
  }
  if (!evaluation && evaluation.error().kind == ErrorKind::Interrupted) {
    // What was learnt is saved as such; a resumed run begins with the validation.
    return parts_.session.stop(evaluation.error().message);
  }
  if (!evaluation) {
    return std::unexpected(std::move(evaluation).error());
  }
  parts_.reporter.evaluation(state_.step, *evaluation, parts_.preparation, *parts_.val);
  if (config_.train.eval_steps > 0) {
    state_.validated_step = state_.step;
  }
  validated_ = evaluation->metrics;
  return std::move(*evaluation);
}

bool Loop::is_over() const {
  return state_.epoch >= config_.train.epochs || is_out_of_steps() || is_stopped_early();
}

bool Loop::is_out_of_steps() const {
  return config_.train.max_steps > 0 && state_.step >= config_.train.max_steps;
}

bool Loop::is_stopped_early() const {
  return config_.early_stop.patience > 0 &&
         state_.early_stop.since() >= config_.early_stop.patience;
}

}  // namespace kedge::train
