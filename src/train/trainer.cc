#include "train/trainer.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include <fmt/format.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "checkpoint/checkpoint.h"
#include "config/render.h"
#include "train/device.h"
#include "train/gradients.h"
#include "train/precision.h"
#include "train/saved_model.h"

namespace kedge::train {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

nn::NamedTensors trainable_parameters(const nn::Model& model) {
  nn::NamedTensors trainable;
  for (auto& named : model.parameters()) {
    if (named.second.requires_grad()) {
      trainable.push_back(std::move(named));
    }
  }
  return trainable;
}

// Where the numbers are finite but too large: the parameter that grew most.
std::string describe_largest(const nn::NamedTensors& parameters) {
  std::string largest;
  double size = -1;
  for (const auto& [name, tensor] : parameters) {
    const double here = tensor.numel() > 0 ? tensor.abs().max().item<double>() : 0;
    if (here > size) {
      size = here;
      largest = name;
    }
  }
  return fmt::format("inputs and parameters are finite, the largest is {:.2g} in {}", size,
                     largest);
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
      meters_({.device = parts.device,
               .classes = config_.train.mixup > 0 ? 0 : parts.preparation.task.classes,
               .is_language = parts.preparation.task.is_language()}),
      best_metric_(config_.checkpoint.metric.empty() ? default_best_metric(parts)
                                                     : config_.checkpoint.metric),
      best_(more_is_better(config_.checkpoint.goal, best_metric_), 0),
      early_stop_(more_is_better(config_.early_stop.goal, config_.early_stop.metric),
                  config_.early_stop.delta) {
  if (config_.ema.decay > 0) {
    ema_.emplace(parts.model.parameters(), parts.model.buffers());
  }
  if (parts.precision == config::Precision::Fp16) {
    scaler_.emplace(parts.device);
  }
}

Result<TrainSummary> Trainer::run() {
  const Clock::time_point started = Clock::now();
  while (!is_over()) {
    const Clock::time_point epoch_started = Clock::now();
    KEDGE_TRY(train_epoch());
    const double seconds = seconds_since(epoch_started);
    train_seconds_ += seconds;
    ++epoch_;
    KEDGE_TRY(end_epoch(seconds));
  }
  summary_.epochs = epoch_;
  summary_.steps = step_;
  summary_.best_metric = best_metric_;
  summary_.best_value = best_.value();
  summary_.seconds = seconds_since(started);
  summary_.samples_per_s = static_cast<double>(samples_) / std::max(train_seconds_, 1e-9);
  summary_.epoch_seconds_mean =
      train_seconds_ / static_cast<double>(std::max<std::int64_t>(epoch_, 1));
  return summary_;
}

Result<void> Trainer::train_epoch() {
  const std::int64_t batches = parts_.train_loader.batches_per_epoch();
  const std::int64_t accumulate = config_.train.accumulate;
  const bool is_language = parts_.preparation.task.is_language();
  parts_.reporter.start_bar(fmt::format("epoch {}/{}", epoch_ + 1, config_.train.epochs), batches,
                            is_language ? "tokens" : "samples");
  parts_.model.set_training(true);
  meters_.reset();
  parts_.train_loader.start_epoch(epoch_);
  std::int64_t items = 0;
  epoch_samples_ = 0;
  epoch_skipped_ = 0;
  for (std::int64_t index = 0; !is_out_of_steps(); ++index) {
    const auto batch = KEDGE_TRY(parts_.train_loader.next());
    if (batch == nullptr) {
      break;
    }
    epoch_skipped_ += batch->skipped;
    // Every image of a batch may have been skipped; with many ranks the last may not reach all.
    if (batch->count > 0) {
      // The last group of an epoch may hold fewer batches; its mean is over those.
      const std::int64_t group_start = index / accumulate * accumulate;
      KEDGE_TRY(learn(parts_.make_inputs(*batch), std::min(accumulate, batches - group_start)));
    }
    if ((index + 1) % accumulate == 0 || index + 1 == batches) {
      apply_gradients();
    }
    epoch_samples_ += batch->count;
    items += batch->count * std::max<std::int64_t>(batch->context, 1);
    if (parts_.reporter.bar()->advance(index + 1, items)) {
      parts_.reporter.bar()->draw(fmt::format("loss {:.4f}", shown_loss_));
    }
  }
  samples_ += epoch_samples_;
  KEDGE_TRY(take_logged_loss());
  synchronize(parts_.device);
  parts_.reporter.end_bar();
  return {};
}

at::Tensor Trainer::compute_loss(const Inputs& inputs) {
  const Autocast autocast(parts_.device, autocast_type(parts_.precision));
  if (config_.train.mixup > 0) {
    return mixed_loss(inputs);
  }
  const at::Tensor scores = parts_.model.forward(inputs.x);
  at::Tensor loss = parts_.loss(scores, inputs.y);
  meters_.add(loss, scores, inputs.y);
  return loss;
}

// Each image is mixed with its mirror in the batch, whose order is already random.
at::Tensor Trainer::mixed_loss(const Inputs& inputs) {
  const double alpha = config_.train.mixup;
  const double share =
      at::_sample_dirichlet(torch::tensor({alpha, alpha}, torch::kFloat64))[0].item<double>();
  const at::Tensor x = inputs.x.mul(share).add_(inputs.x.flip(0), 1 - share);
  const at::Tensor hot = torch::one_hot(inputs.y, parts_.preparation.task.classes).to(at::kFloat);
  const at::Tensor y = hot.mul(share).add_(hot.flip(0), 1 - share);
  const at::Tensor scores = parts_.model.forward(x);
  at::Tensor loss = parts_.loss(scores, y);
  meters_.add(loss, scores, inputs.y);
  return loss;
}

Result<void> Trainer::learn(const Inputs& inputs, std::int64_t group_size) {
  const at::Tensor loss = compute_loss(inputs);
  if (!parts_.device.is_cuda()) {
    // On the CPU the loss is there to be read; on a GPU only log points look, to not wait.
    shown_loss_ = loss.item<double>();
    if (config_.train.stop_on_nan && !std::isfinite(shown_loss_)) {
      return std::unexpected(describe_nonfinite(
          inputs, fmt::format("the loss of step {} (epoch {})", step_ + 1, epoch_ + 1)));
    }
  }
  if ((step_ + 1) % config_.train.log_every == 0) {
    KEDGE_TRY(take_logged_loss());
    logged_loss_.start(loss, step_ + 1);
  }
  at::Tensor scaled = group_size == 1 ? loss : loss / group_size;
  if (scaler_) {
    scaled = scaler_->scale(scaled);
  }
  scaled.backward();
  return {};
}

void Trainer::apply_gradients() {
  const torch::NoGradGuard no_grad;
  reduce_gradients();
  const double lr = parts_.learning_rate.at(step_, epoch_);
  const bool is_finite = !scaler_ || scaler_->unscale(trainable_);
  if (config_.train.clip_norm > 0) {
    clip_norm(trainable_, config_.train.clip_norm);
  }
  if (is_finite) {
    parts_.optimizer.step(lr);
  }
  if (scaler_) {
    scaler_->update();
  }
  zero_gradients(trainable_);
  if (ema_) {
    ema_->update(config_.ema.decay);
  }
  ++step_;
}

void Trainer::reduce_gradients() {
  if (parts_.group.size() == 1) {
    return;
  }
  for (auto& [name, parameter] : trainable_) {
    at::Tensor gradient = parameter.grad();
    if (gradient.defined()) {
      parts_.group.all_reduce_sum(gradient);
      gradient.div_(static_cast<double>(parts_.group.size()));
    }
  }
}

Result<void> Trainer::take_logged_loss() {
  const auto reading = logged_loss_.take();
  if (!reading) {
    return {};
  }
  shown_loss_ = reading->value;
  const double lr = parts_.learning_rate.at(reading->step - 1, epoch_);
  const std::array<track::Scalar, 2> scalars = {{{"train/step_loss", reading->value}, {"lr", lr}}};
  parts_.run.log(reading->step, scalars);
  if (config_.train.stop_on_nan && !std::isfinite(reading->value)) {
    return std::unexpected(describe_nonfinite(
        {}, fmt::format("the loss of step {} (epoch {})", reading->step, epoch_ + 1)));
  }
  return {};
}

Error Trainer::describe_nonfinite(const Inputs& inputs, std::string_view when) const {
  std::string culprit = "the loss itself; " + describe_largest(trainable_);
  if (inputs.x.defined() && inputs.x.is_floating_point() &&
      !inputs.x.isfinite().all().item<bool>()) {
    culprit = "the input batch";
  } else if (const auto name = find_first_nonfinite(parameters_and_buffers(parts_.model))) {
    culprit = *name;
  } else if (inputs.x.defined()) {
    const torch::NoGradGuard no_grad;
    if (!parts_.model.forward(inputs.x).isfinite().all().item<bool>()) {
      culprit = "the model's scores; " + describe_largest(trainable_);
    }
  }
  return {
      ErrorKind::Corrupt, fmt::format("{} is not finite; first bad tensor: {}", when, culprit),
      "lower optimizer.lr, add schedule.warmup or train.clip_norm, or try train.precision=fp32; "
      "train.stop_on_nan=false trains on regardless"};
}

// A GPU is only asked at log points, and the last step's damage first shows in the validation.
Result<void> Trainer::check_finite(const Metrics& metrics) const {
  for (const char* name : {"train/loss", "val/loss"}) {
    const auto found = metrics.find(name);
    if (config_.train.stop_on_nan && found != metrics.end() && !std::isfinite(found->second)) {
      return std::unexpected(
          describe_nonfinite({}, fmt::format("{} after step {} (epoch {})", name, step_, epoch_)));
    }
  }
  return {};
}

Result<void> Trainer::end_epoch(double seconds) {
  Metrics metrics = meters_.read("train/", parts_.group);
  const std::int64_t every = config_.train.eval_every;
  const bool is_due = is_over() || (every > 0 && epoch_ % every == 0);
  if (parts_.evaluator != nullptr && is_due) {
    metrics.merge(KEDGE_TRY(validate()));
  }
  summary_.skipped = std::max(summary_.skipped, epoch_skipped_);
  KEDGE_TRY(check_finite(metrics));
  bool is_best = false;
  if (const auto found = metrics.find(best_metric_); found != metrics.end()) {
    is_best = best_.observe(found->second);
    summary_.best_epoch = is_best ? epoch_ : summary_.best_epoch;
  }
  record_epoch(metrics, seconds, is_best);
  if (const auto found = metrics.find(config_.schedule.metric); found != metrics.end()) {
    parts_.learning_rate.schedule().observe(
        found->second, more_is_better(config::Goal::Auto, config_.schedule.metric));
  }
  consider_stopping(metrics);
  return save_if_due(is_best);
}

void Trainer::record_epoch(const Metrics& metrics, double seconds, bool is_best) {
  const EpochFacts facts = {
      .epoch = epoch_,
      .epochs = config_.train.epochs,
      .step = step_,
      .seconds = seconds,
      .samples_per_s = static_cast<double>(epoch_samples_) / std::max(seconds, 1e-9),
      .lr = parts_.learning_rate.at(std::max<std::int64_t>(step_ - 1, 0), epoch_ - 1),
      .is_best = is_best};
  parts_.reporter.epoch(facts, metrics);
  std::vector<track::Scalar> scalars;
  for (const auto& [name, value] : metrics) {
    scalars.push_back({name, value});
  }
  scalars.push_back({"lr", facts.lr});
  scalars.push_back({"epoch_seconds", seconds});
  parts_.run.log_epoch(epoch_, step_, scalars);
  history_.push_back({{"epoch", epoch_}, {"step", step_}, {"metrics", metrics}});
  summary_.last = metrics;
}

Result<void> Trainer::save_if_due(bool is_best) {
  if (!config_.checkpoint.enabled) {
    return {};
  }
  if (is_best) {
    KEDGE_TRY(save("best"));
  }
  const std::int64_t every = config_.checkpoint.every;
  if (is_over() || (every > 0 && epoch_ % every == 0)) {
    KEDGE_TRY(save("last"));
  }
  return {};
}

void Trainer::consider_stopping(const Metrics& metrics) {
  const auto found = metrics.find(config_.early_stop.metric);
  if (config_.early_stop.patience == 0 || found == metrics.end()) {
    return;
  }
  early_stop_.observe(found->second);
  if (early_stop_.since() >= config_.early_stop.patience) {
    summary_.is_stopped_early = true;
    parts_.reporter.say(fmt::format("early stopping: {} has not improved for {} epochs",
                                    config_.early_stop.metric, early_stop_.since()));
  }
}

Result<Metrics> Trainer::validate() {
  if (ema_) {
    ema_->apply();
  }
  auto evaluation = parts_.evaluator->run(parts_.model, "val/", parts_.group);
  if (ema_) {
    ema_->restore();
  }
  if (!evaluation) {
    return std::unexpected(std::move(evaluation).error());
  }
  epoch_skipped_ += evaluation->skipped;
  parts_.reporter.evaluation(step_, *evaluation, parts_.preparation, *parts_.val);
  return std::move(evaluation->metrics);
}

Result<void> Trainer::save(const std::string& name) {
  HostCopies copies;
  std::vector<checkpoint::Part> shards;
  shards.push_back(copies.part("model", parameters_and_buffers(parts_.model)));
  shards.push_back(copies.part("optimizer", parts_.optimizer.state()));
  if (ema_) {
    shards.push_back(copies.part("ema", ema_->state()));
  }
  if (scaler_) {
    shards.push_back(copies.part("loss_scaler", scaler_->state()));
  }
  const nlohmann::json state = {{"run", parts_.run.id()},
                                {"epoch", epoch_},
                                {"step", step_},
                                {"seed", config_.seed},
                                {"best",
                                 {{"metric", best_metric_},
                                  {"value", best_.value().value_or(0)},
                                  {"epoch", summary_.best_epoch}}},
                                {"history", history_},
                                {"schedule", parts_.learning_rate.schedule().state()},
                                {"config", config::render_effective(parts_.config)},
                                {"config_hash", parts_.config.hash()},
                                {"preparation", parts_.preparation.to_json()}};
  return checkpoint::write_checkpoint(parts_.run.path() / "checkpoints" / name, shards, state);
}

bool Trainer::is_over() const {
  return epoch_ >= config_.train.epochs || is_out_of_steps() || summary_.is_stopped_early;
}

bool Trainer::is_out_of_steps() const {
  return config_.train.max_steps > 0 && step_ >= config_.train.max_steps;
}

}  // namespace kedge::train
