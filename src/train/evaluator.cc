#include "train/evaluator.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <torch/types.h>
#include <torch/utils.h>

#include "device/precision.h"
#include "train/scored.h"

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
      meters_(preparation.task->make_meters(preparation.signature,
                                            {.context = options_.context,
                                             .with_confusion = options_.with_confusion,
                                             .beta = options_.beta})),
      graphs_(options_.capture_with, "batches of the validation") {}

// The scores of the batch that was staged, counted. Asked of the device, not read back.
at::Tensor Evaluator::measure(nn::Model& model) {
  const Inputs inputs = make_inputs_.make();
  Scored scored;
  {
    const device::Autocast autocast(*options_.context);
    const Task& task = *preparation_.task;
    scored = options_.strategy != nullptr ? score(*options_.strategy, loss_, task, inputs)
                                          : score(model, loss_, task, inputs);
  }
  meters_->add(scored.loss, scored.scores, inputs);
  return scored.scores;
}

Result<Evaluation> Evaluator::run(nn::Model& model, const std::string& prefix,
                                  dist::ProcessGroup& group) {
  const torch::NoGradGuard no_grad;
  Evaluation evaluation;
  meters_->reset();
  model.set_training(false);
  loader_.start_epoch(0);
  while (auto batch = KEDGE_TRY(loader_.next())) {
    evaluation.skipped += batch->skipped;
    // Not left out by a rank where nothing counts: the question below is for all of them.
    if (loss_weight(*batch) > 0) {
      make_inputs_.stage(*batch);
      const at::Tensor scores = graphs_.run(
          {.inputs = make_inputs_.staged_at(), .count = batch->count},
          [&] { return measure(model); }, [] {});
      auto& kept = evaluation.predictions;
      if (const auto wanted = options_.prediction_count - std::ssize(kept); wanted > 0) {
        std::ranges::move(preparation_.task->predictions(make_inputs_, *batch, scores, wanted),
                          std::back_inserter(kept));
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
  evaluation.metrics = meters_->read(prefix, group);
  evaluation.confusion = meters_->read_confusion(group);
  return evaluation;
}

}  // namespace kedge::train
