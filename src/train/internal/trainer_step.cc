// One step of the loop: what the device does, in a form that can be captured, and what the host
// adds around it.
#include <cmath>

#include <fmt/format.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "device/precision.h"
#include "train/internal/gradients.h"
#include "train/internal/histogram.h"
#include "train/internal/nonfinite.h"
#include "train/internal/trainer.h"

namespace kedge::train {

// Only a CPU has no work queued that a step would wait for; and it does without where that is to
// be shown.
bool Trainer::may_read_back() const {
  return parts_.context->device.is_cpu() && parts_.capture_with == nullptr &&
         parts_.waits == nullptr;
}

std::optional<std::string> Trainer::why_not_captured() const {
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
  if (!is_alone() && !parts_.group.can_capture()) {
    return "the ranks' gradients are all-reduced between its pieces";
  }
  if (!is_alone() && config_.train.accumulate > 1) {
    return "with many ranks, a step of several batches is not one piece of work";
  }
  return std::nullopt;
}

// One micro-batch; the last of its step changes the weights.
Result<void> Trainer::learn(const data::Batch& batch, std::int64_t micro_batches,
                            bool is_last_micro_batch) {
  const std::int64_t step = state_.step + 1;
  set_rate();
  if (ema_) {
    ema_->set_decay(ema_decay(config_.ema, step));
  }
  set_batch_fraction(batch);
  if (config_.dist.buffers == config::BufferSync::Step) {
    broadcast_buffers();
  }
  at::Tensor loss;
  // Every image of a batch may have been skipped; with many ranks the last may not reach all.
  if (batch.count > 0) {
    parts_.make_inputs.stage(batch);
    draw_mixup_lambda();
    const auto work = [&] {
      const Waits::Watch watch(parts_.waits);
      return learn_on_device(micro_batches, is_last_micro_batch);
    };
    const bool is_watched = is_last_micro_batch && is_watch_step(step);
    loss = is_watched ? work()
                      : graphs_.run({.inputs = parts_.make_inputs.staged_at(),
                                     .count = batch.count,
                                     .micro_batches = micro_batches,
                                     .is_last_micro_batch = is_last_micro_batch,
                                     .batch_fraction = batch_fraction_},
                                    work, [this] { drop_unfinished(); });
    KEDGE_TRY(check_loss_on_host(loss));
  } else if (is_last_micro_batch) {
    apply_gradients();
  }
  if (!is_last_micro_batch) {
    return {};
  }
  if (step % config_.train.log_every == 0 && (loss.defined() || !is_alone())) {
    KEDGE_TRY(take_logged_loss());
    logged_loss_.start(is_alone() ? loss : mean_over_ranks(loss), step);
  }
  state_.step = step;
  return {};
}

// Everything here is asked of the device and never read back, so that it can be captured.
at::Tensor Trainer::learn_on_device(std::int64_t micro_batches, bool is_last_micro_batch) {
  const Inputs inputs = parts_.make_inputs.make();
  const at::Tensor loss = compute_loss(inputs);
  if (may_read_back() && config_.train.stop_on_nan && !std::isfinite(loss.item<double>())) {
    return loss.detach();  // the weights stay as they were when the loss was last good
  }
  at::Tensor scaled = micro_batches == 1 ? loss : loss / micro_batches;
  if (batch_fraction_ != 1) {
    scaled = scaled * batch_fraction_;
  }
  if (scaler_) {
    scaled = scaler_->scale(scaled);
  }
  if (parallel_ && is_last_micro_batch) {
    parallel_->start();
  }
  scaled.backward();
  if (is_last_micro_batch) {
    apply_gradients();
  }
  return loss.detach();
}

at::Tensor Trainer::compute_loss(const Inputs& inputs) {
  const device::Autocast autocast(*parts_.context);
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
  const at::Tensor& lambda = mixup_lambda_;
  const at::Tensor x = inputs.x.mul(lambda).add_(inputs.x.flip(0).mul_(1 - lambda));
  // Not one_hot: it reads the labels' range back from the device.
  const at::Tensor hot =
      at::zeros({inputs.y.size(0), parts_.preparation.task.classes}, lambda.options())
          .scatter_(1, inputs.y.unsqueeze(1), 1);
  const at::Tensor y = hot.mul(lambda).add_(hot.flip(0).mul_(1 - lambda));
  const at::Tensor scores = parts_.model.forward(x);
  at::Tensor loss = parts_.loss(scores, y);
  meters_.add(loss, scores, inputs.y);
  return loss;
}

void Trainer::draw_mixup_lambda() {
  const double alpha = config_.train.mixup;
  if (alpha > 0) {
    mixup_lambda_.fill_(
        at::_sample_dirichlet(torch::tensor({alpha, alpha}, torch::kFloat64))[0].item<double>());
  }
}

void Trainer::set_rate() {
  rate_.value = parts_.learning_rate.at(state_.step, state_.epoch);
  if (rate_.on_device.defined()) {
    rate_.on_device.fill_(rate_.value);
  }
}

void Trainer::apply_gradients() {
  const torch::NoGradGuard no_grad;
  reduce_gradients();
  if (scaler_) {
    scaler_->unscale(trainable_);
  }
  if (config_.train.clip_norm > 0) {
    clip_norm(trainable_, config_.train.clip_norm);
  }
  watch();
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
Clearing Trainer::clearing() const {
  return graphs_.is_on() && config_.train.accumulate > 1 ? Clearing::Fill : Clearing::Drop;
}

// The gradients of a step that failed while it was captured; those of earlier
// micro-batches were computed and stay.
void Trainer::drop_unfinished() {
  if (parallel_) {
    parallel_->reset();
  }
  if (config_.train.accumulate == 1) {
    zero_gradients(trainable_);
  }
}

bool Trainer::is_watch_step(std::int64_t step) const {
  return config_.track.watch != config::Watch::None && step % config_.track.watch_every == 0;
}

// Histograms of what the optimizer is about to use. They wait for the device: only when asked for.
void Trainer::watch() {
  const config::Watch watched = config_.track.watch;
  const std::int64_t step = state_.step + 1;
  if (!is_watch_step(step)) {
    return;
  }
  for (const auto& [name, parameter] : trainable_) {
    if (watched != config::Watch::Gradients) {
      log_histogram(parts_.run, "parameters/" + name, step, parameter);
    }
    if (watched != config::Watch::Parameters && parameter.grad().defined()) {
      log_histogram(parts_.run, "gradients/" + name, step, parameter.grad());
    }
  }
}

void Trainer::reduce_gradients() {
  if (parallel_) {
    parallel_->finish();
  }
}

// On the CPU the loss is there to be read; on a GPU only log points look, to not wait.
Result<void> Trainer::check_loss_on_host(const at::Tensor& loss) {
  if (parts_.context->device.is_cuda()) {
    return {};
  }
  shown_loss_ = loss.item<double>();
  if (config_.train.stop_on_nan && !std::isfinite(shown_loss_)) {
    return std::unexpected(describe_nonfinite(
        parts_.model, parts_.make_inputs.make(),
        fmt::format("the loss of step {} (epoch {})", state_.step + 1, state_.epoch + 1)));
  }
  return {};
}

}  // namespace kedge::train
