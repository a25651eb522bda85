// A batch's loss and scores, in the one way that training and evaluation compute them.
#pragma once

#include <torch/types.h>

#include "nn/loss.h"
#include "train/inputs.h"
#include "train/task.h"

namespace kedge::train {

struct Scored {
  at::Tensor loss;    // the mean over the targets that count
  at::Tensor scores;  // undefined where the task has no need of them and they would be many
};

// `Forward`: nn::Model or parallel::Strategy.
template <typename Forward>
Scored score(Forward& model, const nn::Loss& loss, const Task& task, const Inputs& inputs) {
  if (task.judges_itself()) {
    const at::Tensor judged = task.judge(model.forward_to_head(inputs.input()), inputs);
    return {.loss = loss(judged, inputs.y), .scores = judged};
  }
  if (!task.needs_scores() && model.ends_in_linear()) {
    const nn::Head head = model.forward_to_head(inputs.input());
    if (const at::Tensor all = loss.of_head(head, inputs.y); all.defined()) {
      return {.loss = all, .scores = {}};
    }
    const at::Tensor scores = torch::linear(head.features, head.weight);
    return {.loss = loss(scores, inputs.y), .scores = scores};
  }
  const at::Tensor scores = model.forward(inputs.input());
  return {.loss = loss(scores, inputs.y), .scores = scores};
}

}  // namespace kedge::train
