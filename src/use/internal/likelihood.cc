#include "use/internal/likelihood.h"

#include <algorithm>
#include <numeric>

#include <torch/types.h>
#include <torch/utils.h>

#include "device/precision.h"

namespace kedge::use {
namespace {

constexpr std::int64_t kScoresAtOnce = std::int64_t{1} << 26U;  // 256 MiB in float32

// Some passages as one input, and which of its positions say something of their scored tokens.
struct Padded {
  at::Tensor tokens_BT;
  at::Tensor rows = {};     // int64 [S], into B * T positions
  at::Tensor targets = {};  // int64 [S], what comes after each
};

Padded pad(std::span<const Passage> passages, std::span<const std::size_t> chosen) {
  const auto longest = std::ssize(passages[chosen.front()].ids) - 1;
  Padded padded{.tokens_BT = torch::zeros({std::ssize(chosen), longest}, at::kLong)};
  std::vector<std::int64_t> rows;
  std::vector<std::int64_t> targets;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const Passage& passage = passages[chosen[i]];
    const auto row = static_cast<std::int64_t>(i);
    std::copy_n(passage.ids.begin(), passage.ids.size() - 1,
                padded.tokens_BT[row].data_ptr<std::int64_t>());
    for (auto at = std::ssize(passage.ids) - passage.scored; at < std::ssize(passage.ids); ++at) {
      rows.push_back(row * longest + at - 1);
      targets.push_back(passage.ids[static_cast<std::size_t>(at)]);
    }
  }
  padded.rows = torch::tensor(rows, at::kLong);
  padded.targets = torch::tensor(targets, at::kLong);
  return padded;
}

// Of each row: the logarithm of its target's probability, and whether none is likelier; [2, S].
class RowScorer {
 public:
  RowScorer(const LanguageModel& model, const Padded& padded) : vocab_(model.vocab) {
    const at::Device device = model.context->device;
    const at::Tensor rows = padded.rows.to(device);
    targets_ = padded.targets.to(device);
    const nn::ModelInput input(padded.tokens_BT.to(device));
    if (model.model->ends_in_linear()) {
      const nn::Head head = model.model->forward_to_head(input);
      features_ = head.features.flatten(0, 1).index_select(0, rows);
      weight_ = head.weight;
    } else {
      features_ = model.model->forward(input).flatten(0, 1).index_select(0, rows);
    }
  }

  at::Tensor score() const {
    std::vector<at::Tensor> parts;
    const std::int64_t step = std::max<std::int64_t>(1, kScoresAtOnce / vocab_);
    for (std::int64_t from = 0; from < targets_.size(0); from += step) {
      parts.push_back(score_stretch(from, std::min(step, targets_.size(0) - from)));
    }
    return torch::cat(parts, 1);
  }

 private:
  at::Tensor score_stretch(std::int64_t from, std::int64_t count) const {
    at::Tensor scores = features_.narrow(0, from, count);
    scores = weight_.defined() ? torch::linear(scores, weight_) : scores;
    const at::Tensor logs = torch::log_softmax(
        scores, -1, scores.scalar_type() == at::kDouble ? at::kDouble : at::kFloat);
    const at::Tensor targets = targets_.narrow(0, from, count);
    const at::Tensor own = logs.gather(1, targets.unsqueeze(1)).squeeze(1);
    return torch::stack({own.to(at::kDouble), logs.argmax(1).eq(targets).to(at::kDouble)});
  }

  std::int64_t vocab_;
  at::Tensor features_;  // of the scored rows; the scores themselves where there is no weight
  at::Tensor weight_;
  at::Tensor targets_;
};

}  // namespace

std::vector<Likelihood> score_passages(const LanguageModel& model,
                                       std::span<const Passage> passages, std::int64_t batch,
                                       const std::function<void(std::int64_t)>& on_scored) {
  const torch::NoGradGuard no_grad;
  std::vector<std::size_t> order(passages.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::ranges::greater(),
                           [&](std::size_t i) { return passages[i].ids.size(); });
  std::vector<Likelihood> results(passages.size());
  const auto step = static_cast<std::size_t>(batch);
  for (std::size_t from = 0; from < order.size(); from += step) {
    const auto chosen = std::span(order).subspan(from, std::min(step, order.size() - from));
    const device::Autocast autocast(*model.context);
    const at::Tensor scores = RowScorer(model, pad(passages, chosen)).score().cpu();
    const auto read = scores.accessor<double, 2>();
    std::int64_t row = 0;
    for (const std::size_t i : chosen) {
      for (std::int64_t token = 0; token < passages[i].scored; ++token, ++row) {
        results[i].log_prob += read[0][row];
        results[i].is_greedy = results[i].is_greedy && read[1][row] > 0;
      }
    }
    on_scored(static_cast<std::int64_t>(from + chosen.size()));
  }
  return results;
}

}  // namespace kedge::use
