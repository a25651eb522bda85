#include "train/evaluator.h"

#include <algorithm>
#include <utility>

#include <torch/types.h>
#include <torch/utils.h>

#include "device/precision.h"

namespace kedge::train {
namespace {

bool is_true_anywhere(dist::ProcessGroup& group, bool is_true) {
  std::vector<double> counts = {is_true ? 1.0 : 0.0};
  dist::all_reduce_sum(group, counts);
  return counts.front() > 0;
}

}  // namespace

Evaluator::Evaluator(data::Loader& loader, InputMaker& make_inputs, const nn::Loss& loss,
                     const Preparation& preparation, Options options)
    : loader_(loader),
      make_inputs_(make_inputs),
      loss_(loss),
      preparation_(preparation),
      options_(std::move(options)),
      meters_({.context = options_.context,
               .classes = preparation.task.classes,
               .with_confusion = options_.with_confusion && !preparation.task.is_language(),
               .is_language = preparation.task.is_language()}),
      graphs_(options_.capture_with, "batches of the validation") {}

// The scores of the batch that was staged, counted. Asked of the device, not read back.
at::Tensor Evaluator::measure(nn::Model& model) {
  const Inputs inputs = make_inputs_.make();
  at::Tensor scores;
  at::Tensor loss;
  {
    const device::Autocast autocast(*options_.context);
    scores = options_.forward ? options_.forward(inputs.x) : model.forward(inputs.x);
    loss = loss_(scores, inputs.y);
  }
  meters_.add(loss, scores, inputs.y);
  return scores;
}

Result<Evaluation> Evaluator::run(nn::Model& model, const std::string& prefix,
                                  dist::ProcessGroup& group) {
  const torch::NoGradGuard no_grad;
  const bool is_language = preparation_.task.is_language();
  Evaluation evaluation;
  meters_.reset();
  model.set_training(false);
  loader_.start_epoch(0);
  while (auto batch = KEDGE_TRY(loader_.next())) {
    evaluation.skipped += batch->skipped;
    // Not left out by a rank without a sample: the question below is for all of them.
    if (batch->count > 0) {
      make_inputs_.stage(*batch);
      const at::Tensor scores = graphs_.run(
          {.inputs = make_inputs_.staged_at(), .count = batch->count},
          [&] { return measure(model); }, [] {});
      if (!is_language && std::ssize(evaluation.predictions) < options_.prediction_count) {
        keep_predictions(*batch, scores, evaluation.predictions);
      }
    }
    if (options_.should_stop) {
      const std::optional<std::string> reason = options_.should_stop();
      if (is_true_anywhere(group, reason.has_value())) {
        return fail(ErrorKind::Interrupted, reason.value_or("another rank was asked to stop"));
      }
    }
  }
  std::vector<double> counts = {static_cast<double>(evaluation.skipped)};
  dist::all_reduce_sum(group, counts);
  evaluation.skipped = static_cast<std::int64_t>(counts.front());
  evaluation.metrics = meters_.read(prefix, group);
  if (options_.with_confusion && !is_language) {
    evaluation.confusion = meters_.read_confusion();
  }
  return evaluation;
}

void Evaluator::keep_predictions(const data::Batch& batch, const at::Tensor& scores,
                                 std::vector<Prediction>& predictions) const {
  const std::int64_t wanted = options_.prediction_count - std::ssize(predictions);
  const std::int64_t count = std::min(wanted, batch.count);
  const at::Tensor probabilities =
      scores.slice(0, 0, count).to(at::kFloat).softmax(1).cpu().contiguous();
  const auto* row = probabilities.data_ptr<float>();
  const auto* labels = batch.find(data::kLabel)->as<std::int64_t>();
  const std::int64_t classes = probabilities.size(1);
  for (std::int64_t i = 0; i < count; ++i) {
    predictions.push_back({.index = batch.indices[static_cast<std::size_t>(i)],
                           .label = labels[i],
                           .scores = {row + i * classes, row + (i + 1) * classes},
                           .image = make_inputs_.image_of(batch, i)});
  }
}

}  // namespace kedge::train
