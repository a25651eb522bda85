#include "train/internal/step.h"

#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "device/precision.h"
#include "train/internal/histogram.h"
#include "train/internal/nonfinite.h"
#include "train/internal/random_state.h"
#include "train/saved_model.h"
#include "train/scored.h"

namespace kedge::train {

Step::Step(const StepParts& parts)
    : parts_(parts),
      config_(parts.config),
      trainable_(nn::trainable_parameters(parts.model)),
      frozen_(nn::frozen_names(parts.model)),
      meters_(parts.preparation.task->make_meters(parts.preparation.signature,
                                                  {.context = parts.context,
                                                   .has_mixed_targets = config_.train.mixup > 0,
                                                   .beta = config_.loss.beta})),
      graphs_(why_not_captured() ? nullptr : parts.capture_with) {
  if (const auto own = parts.model.aux_loss_coefficient()) {
    aux_loss_ = config_.loss.router_aux.value_or(*own);
    meters_->expect_aux_loss();
  }
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
}

std::vector<StateTensors> Step::state() {
  std::vector<StateTensors> parts = {
      {.name = "model", .tensors = parameters_and_buffers(parts_.model)},
      {.name = "optimizer", .tensors = parts_.optimizer.state()},
      {.name = "meters", .tensors = meters_->state(), .spread = checkpoint::Spread::FirstRank},
      {.name = "rng",
       .tensors = random_state(parts_.context->device),
       .spread = checkpoint::Spread::PerRank}};
  if (ema_) {
    parts.push_back({.name = "ema", .tensors = ema_->state()});
  }
  if (!parts_.keeps_frozen) {
    for (StateTensors& part : parts) {
      std::erase_if(part.tensors, [&](const auto& named) { return frozen_.contains(named.first); });
    }
  }
  if (scaler_) {
    parts.push_back({.name = "loss_scaler", .tensors = scaler_->state()});
  }
  return parts;
}

// Only a CPU has no work queued that a step would wait for; and it does without where that is to
// be shown.
bool Step::may_read_back() const {
  return parts_.context->device.is_cpu() && parts_.capture_with == nullptr &&
         parts_.waits == nullptr;
}

std::optional<std::string> Step::why_not_captured() const {
  if (!config_.train.graph || (parts_.context->device.is_cpu() && parts_.capture_with == nullptr)) {
    return "";
  }
  if (parts_.capture_with == nullptr) {
    return device::why_missing();
  }
  if (!parts_.optimizer.can_capture()) {
    return fmt::format("optimizer {} counts its steps on the host", config_.optimizer.name);
  }
  if (parts_.context->precision == config::Precision::Fp16 &&
      !parts_.optimizer.can_skip_on_device()) {
    return fmt::format("optimizer {} leaves it to the host to skip fp16 steps that overflow",
                       config_.optimizer.name);
  }
  return parts_.strategy.why_not_captured(config_.train.accumulate);
}

Result<at::Tensor> Step::run(const data::Batch& batch, const StepPlace& given) {
  set_rate(given);
  if (ema_) {
    ema_->set_decay(ema_decay(config_.ema, given.step + 1));
  }
  if (config_.dist.buffers == config::BufferSync::Step) {
    parts_.strategy.broadcast_buffers();
  }
  // Every image of a batch may have been skipped; with many ranks the last may not reach all.
  if (loss_weight(batch) == 0) {
    if (given.is_last_micro_batch) {
      apply_gradients(given);
    }
    return at::Tensor();
  }
  parts_.make_inputs.stage(batch);
  draw_mixup_lambda();
  const StepPlace place =
      batch.find(data::kLossMask) == nullptr ? given : weighted_on_device(given);
  const auto work = [&] {
    const Waits::Watch watch(parts_.waits);
    return run_on_device(place);
  };
  const at::Tensor loss = is_watched(place)
                              ? work()
                              : graphs_.run({.inputs = parts_.make_inputs.staged_at(),
                                             .count = batch.count,
                                             .batches_per_step = place.batches_per_step,
                                             .is_last_micro_batch = place.is_last_micro_batch,
                                             .batch_fraction = place.batch_fraction},
                                            work, [this] { drop_unfinished(); });
  KEDGE_TRY(check_loss_on_host(loss, place));
  return loss;
}

// Everything here is asked of the device and never read back, so that it can be captured.
at::Tensor Step::run_on_device(const StepPlace& place) {
  const Inputs inputs = parts_.make_inputs.make();
  const at::Tensor loss = compute_loss(inputs);
  if (may_read_back() && config_.train.stop_on_nan && !std::isfinite(loss.item<double>())) {
    return loss.detach();  // the weights stay as they were when the loss was last good
  }
  at::Tensor scaled = place.batches_per_step == 1 ? loss : loss / place.batches_per_step;
  if (place.batch_fraction != 1) {
    scaled = scaled * place.batch_fraction;
  }
  if (loss_weight_.defined()) {
    scaled = scaled * loss_weight_.to(scaled.scalar_type());
  }
  if (scaler_) {
    scaled = scaler_->scale(scaled);
  }
  if (place.is_last_micro_batch) {
    parts_.strategy.start_backward();
  }
  scaled.backward();
  if (place.is_last_micro_batch) {
    apply_gradients(place);
  }
  return loss.detach();
}

at::Tensor Step::compute_loss(const Inputs& inputs) {
  const device::Autocast autocast(*parts_.context);
  if (config_.train.mixup > 0) {
    return mixed_loss(inputs);
  }
  if (parts_.teacher != nullptr || inputs.teacher_scores.defined()) {
    return with_aux_loss(taught_loss(inputs));
  }
  const Scored scored = score(parts_.strategy, parts_.loss, *parts_.preparation.task, inputs);
  meters_->add(scored.loss, scored.scores, inputs);
  return with_aux_loss(scored.loss);
}

// What is reported as the loss is the task's own; what is added has a metric of its own.
at::Tensor Step::with_aux_loss(at::Tensor loss) {
  if (!aux_loss_) {
    return loss;
  }
  const at::Tensor added = parts_.model.take_aux_loss();
  meters_->add_aux_loss(added);
  return loss + added.to(loss.scalar_type()) * *aux_loss_;
}

at::Tensor Step::taught_loss(const Inputs& inputs) {
  const at::Tensor scores = parts_.strategy.forward(inputs.input());
  const at::Tensor own = parts_.loss(scores, inputs.y);
  at::Tensor loss = parts_.teacher != nullptr
                        ? parts_.teacher->mix(own, scores, inputs)
                        : mix_with_stored(config_.distill, own, scores, inputs);
  meters_->add(loss, scores, inputs);
  return loss;
}

// Each image is mixed with its mirror in the batch, whose order is already random.
at::Tensor Step::mixed_loss(const Inputs& inputs) {
  const at::Tensor& lambda = mixup_lambda_;
  const at::Tensor x = inputs.x.mul(lambda).add_(inputs.x.flip(0).mul_(1 - lambda));
  // Not one_hot: it reads the labels' range back from the device.
  const at::Tensor hot =
      at::zeros({inputs.y.size(0), parts_.preparation.signature.classes}, lambda.options())
          .scatter_(1, inputs.y.unsqueeze(1), 1);
  const at::Tensor y = hot.mul(lambda).add_(hot.flip(0).mul_(1 - lambda));
  const at::Tensor scores = parts_.strategy.forward(x);
  at::Tensor loss = parts_.loss(scores, y);
  meters_->add(loss, scores, inputs);
  return loss;
}

// Masks leave another number of targets in every micro-batch, so its weight is no part of what is
// captured: the device reads it.
StepPlace Step::weighted_on_device(StepPlace place) {
  if (!loss_weight_.defined()) {
    loss_weight_ = at::zeros({}, mixup_lambda_.options().dtype(at::kDouble));
  }
  loss_weight_.fill_(place.batch_fraction / place.batches_per_step);
  place.batches_per_step = 1;
  place.batch_fraction = 1;
  return place;
}

void Step::draw_mixup_lambda() {
  const double alpha = config_.train.mixup;
  if (alpha > 0) {
    mixup_lambda_.fill_(
        at::_sample_dirichlet(torch::tensor({alpha, alpha}, torch::kFloat64))[0].item<double>());
  }
}

void Step::set_rate(const StepPlace& place) {
  rate_.value = parts_.learning_rate.at(place.step, place.epoch);
  if (rate_.on_device.defined()) {
    rate_.on_device.fill_(rate_.value);
  }
}

void Step::apply_gradients(const StepPlace& place) {
  const torch::NoGradGuard no_grad;
  parts_.strategy.finish_backward();
  if (scaler_) {
    scaler_->unscale(trainable_);
    parts_.strategy.agree_on_overflow(scaler_->found_inf());
  }
  if (config_.train.clip_norm > 0) {
    const at::Tensor norm = parts_.strategy.global_norm(gradient_norm(trainable_));
    clip_norm(trainable_, norm, config_.train.clip_norm);
  }
  if (is_watched(place)) {
    watch(place);
  }
  if (!scaler_ || rate_.found_inf || scaler_->is_finite()) {
    parts_.optimizer.step(rate_);
  }
  if (scaler_) {
    scaler_->update();
  }
  zero_gradients(trainable_, clearing());
  if (ema_) {
    ema_->update();
  }
}

// Captured micro-batches of one step add to the same memory.
Clearing Step::clearing() const {
  return graphs_.is_on() && config_.train.accumulate > 1 ? Clearing::Fill : Clearing::Drop;
}

// The gradients of a step that failed while it was captured; those of earlier
// micro-batches were computed and stay.
void Step::drop_unfinished() {
  parts_.strategy.drop_backward();
  if (config_.train.accumulate == 1) {
    zero_gradients(trainable_);
  }
}

bool Step::is_watched(const StepPlace& place) const {
  return place.is_last_micro_batch && config_.track.watch != config::Watch::None &&
         (place.step + 1) % config_.track.watch_every == 0;
}

// Histograms of what the optimizer is about to use. They wait for the device: only when asked for.
void Step::watch(const StepPlace& place) {
  const config::Watch watched = config_.track.watch;
  const std::int64_t step = place.step + 1;
  for (const auto& [name, parameter] : trainable_) {
    if (watched != config::Watch::Gradients) {
      log_histogram(parts_.run, "parameters/" + name, step, parameter);
    }
    if (watched != config::Watch::Parameters && parameter.grad().defined()) {
      log_histogram(parts_.run, "gradients/" + name, step, parameter.grad());
    }
  }
}

// On the CPU the loss is there to be read; on a GPU only log points look, to not wait.
Result<void> Step::check_loss_on_host(const at::Tensor& loss, const StepPlace& place) {
  if (parts_.context->device.is_cpu() && config_.train.stop_on_nan &&
      !std::isfinite(loss.item<double>())) {
    return std::unexpected(describe_nonfinite(
        parts_.model, parts_.make_inputs.make(),
        fmt::format("the loss of step {} (epoch {})", place.step + 1, place.epoch + 1)));
  }
  return {};
}

}  // namespace kedge::train
