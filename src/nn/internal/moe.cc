#include "nn/internal/moe.h"

#include <typeinfo>
#include <utility>

#include <ATen/autocast_mode.h>
#include <ATen/ops/_grouped_mm.h>
#include <fmt/format.h>
#include <torch/csrc/jit/frontend/tracer.h>
#include <torch/nn/init.h>
#include <torch/types.h>
#include <torch/utils.h>

namespace kedge::nn {
namespace {

// The type that products are computed in.
at::ScalarType product_type(const at::Tensor& x) {
  const at::DeviceType device = x.device().type();
  return at::autocast::is_autocast_enabled(device) ? at::autocast::get_autocast_dtype(device)
                                                   : x.scalar_type();
}

// All as one [E, rows, columns] matrix: their own memory where it is in one piece.
at::Tensor stacked(const std::vector<at::Tensor>& weights, std::int64_t experts,
                   at::ScalarType type) {
  const at::Tensor& first = weights.front();
  bool is_one_piece = !torch::GradMode::is_enabled();
  for (std::size_t i = 0; i < weights.size(); ++i) {
    is_one_piece = is_one_piece && weights[i].is_contiguous() && weights[i].is_alias_of(first) &&
                   weights[i].storage_offset() ==
                       first.storage_offset() + static_cast<std::int64_t>(i) * first.numel();
  }
  const std::int64_t rows = std::ssize(weights) / experts * first.size(0);
  const at::Tensor all = is_one_piece ? first.as_strided({experts, rows, first.size(1)},
                                                         {rows * first.size(1), first.size(1), 1},
                                                         first.storage_offset())
                                      : torch::cat(weights).view({experts, rows, first.size(1)});
  return all.to(type);
}

}  // namespace

Router::Router(const Making& making, std::int64_t width, std::int64_t outputs) : Layer(making) {
  add_parameter("weight", weight, torch::empty({outputs, width}, options()));
  constexpr double kInitStd = 0.02;
  torch::nn::init::normal_(weight, 0, kInitStd);
}

at::Tensor Router::forward(const at::Tensor& x) const {
  return torch::linear(x, weight);
}

MoeMlp::MoeMlp(const Making& making, const LlamaShape& shape) : Layer(making), shape_(shape.moe) {
  router_ = add_layer("gate", std::make_shared<Router>(making, shape.width, shape_.experts));
  GatedMlpShape expert{.width = shape.width, .ffn = shape_.ffn, .is_joined = false};
  if (shape.family == "mixtral") {
    expert.gate = "w1";
    expert.up = "w3";
    expert.down = "w2";
  }
  std::vector<std::shared_ptr<Linear>*> ins;
  std::vector<std::shared_ptr<Linear>*> outs;
  for (std::int64_t i = 0; i < shape_.experts; ++i) {
    experts_.push_back(
        add_layer(fmt::format("experts.{}", i), std::make_shared<GatedMlp>(making, expert)));
    ins.insert(ins.end(), {&experts_.back()->gate, &experts_.back()->up});
    outs.push_back(&experts_.back()->down);
  }
  add_joined(std::move(ins));
  add_joined(std::move(outs));
  if (shape_.shared_ffn > 0) {
    shared_ = add_layer("shared_expert",
                        std::make_shared<GatedMlp>(
                            making, GatedMlpShape{.width = shape.width, .ffn = shape_.shared_ffn}));
    shared_gate_ =
        add_layer("shared_expert_gate", std::make_shared<Router>(making, shape.width, 1));
  }
}

MoeMlp::Mixed MoeMlp::forward(const at::Tensor& x_BTC) {
  const at::Tensor x_NC = x_BTC.flatten(0, -2);
  const at::Tensor scores_NE = router_->forward(x_NC);
  const at::Tensor probabilities_NE = torch::softmax(
      scores_NE, -1, scores_NE.scalar_type() == at::kDouble ? at::kDouble : at::kFloat);
  auto [weights_NK, experts_NK] = probabilities_NE.topk(shape_.per_token, -1);
  if (shape_.is_normalised) {
    weights_NK = weights_NK / weights_NK.sum(-1, /*keepdim=*/true);
  }
  at::Tensor y_NC = mix(find_way(x_NC), x_NC, weights_NK, experts_NK);
  if (shared_ != nullptr) {
    y_NC = y_NC + torch::sigmoid(shared_gate_->forward(x_NC)) * shared_->forward(x_NC);
  }
  Mixed mixed{.y = y_NC.view_as(x_BTC)};
  if (is_training()) {
    const at::Tensor counts_E =
        torch::zeros({shape_.experts}, probabilities_NE.options())
            .scatter_add_(0, experts_NK.flatten(), torch::ones_like(weights_NK.detach()).flatten());
    mixed.load_2E = torch::stack({counts_E, probabilities_NE.sum(0)});
  }
  return mixed;
}

MoeMlp::Way MoeMlp::find_way(const at::Tensor& x) const {
  if (torch::jit::tracer::isTracing()) {
    return Way::Dense;  // a trace keeps the numbers that it saw
  }
  if (x.device().is_cpu()) {
    return Way::Loop;
  }
  for (const auto& expert : experts_) {
    for (const auto* linear : {&expert->gate, &expert->up, &expert->down}) {
      if (typeid(**linear) != typeid(Linear)) {  // converted: its weight is not all there is to it
        return Way::Dense;
      }
    }
  }
  constexpr std::int64_t kAligned = 8;  // values in the 16 bytes that rows must be a multiple of
  const bool is_aligned = x.size(-1) % kAligned == 0 && shape_.ffn % kAligned == 0;
  return is_aligned && product_type(x) == at::kBFloat16 ? Way::Grouped : Way::Dense;
}

at::Tensor MoeMlp::mix(Way way, const at::Tensor& x_NC, const at::Tensor& weights_NK,
                       const at::Tensor& experts_NK) {
  return way == Way::Dense ? mix_densely(x_NC, weights_NK, experts_NK)
                           : mix_sorted(way, x_NC, weights_NK, experts_NK);
}

// Each token stands there once for each of its experts; both gathers are permutations, so that
// their backward passes add nothing up in an order of chance.
at::Tensor MoeMlp::mix_sorted(Way way, const at::Tensor& x_NC, const at::Tensor& weights_NK,
                              const at::Tensor& experts_NK) {
  const std::int64_t per_token = experts_NK.size(1);
  const at::Tensor experts_S = experts_NK.flatten();
  const at::Tensor order_S = experts_S.argsort(/*stable=*/true, /*dim=*/0, /*descending=*/false);
  const at::Tensor place_S = torch::empty_like(order_S).scatter_(
      0, order_S, torch::arange(order_S.size(0), order_S.options()));
  const at::Tensor counts_E = torch::zeros({shape_.experts}, experts_S.options())
                                  .scatter_add_(0, experts_S, torch::ones_like(experts_S));
  const at::Tensor sorted_SC =
      x_NC.unsqueeze(1).expand({-1, per_token, -1}).flatten(0, 1).index_select(0, order_S);
  const at::Tensor y_SC =
      way == Way::Loop ? loop(sorted_SC, counts_E) : grouped(sorted_SC, counts_E);
  const at::Tensor y_NKC = y_SC.index_select(0, place_S).unflatten(0, {-1, per_token});
  return (y_NKC * weights_NK.unsqueeze(-1)).sum(1).to(x_NC.scalar_type());
}

at::Tensor MoeMlp::loop(const at::Tensor& sorted_SC, const at::Tensor& counts_E) {
  const auto* counts = counts_E.const_data_ptr<std::int64_t>();
  std::vector<at::Tensor> parts;
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < experts_.size(); ++i) {
    const std::int64_t count = counts[i];
    // One without tokens has gradients of zeros.
    if (count > 0 || torch::GradMode::is_enabled()) {
      parts.push_back(experts_[i]->forward(sorted_SC.narrow(0, begin, count)));
    }
    begin += count;
  }
  return torch::cat(parts);
}

at::Tensor MoeMlp::grouped(const at::Tensor& sorted_SC, const at::Tensor& counts_E) {
  const at::ScalarType type = product_type(sorted_SC);
  std::vector<at::Tensor> ins;
  std::vector<at::Tensor> outs;
  for (const auto& expert : experts_) {
    ins.insert(ins.end(), {expert->gate->weight, expert->up->weight});
    outs.push_back(expert->down->weight);
  }
  const at::Tensor ends_E = counts_E.cumsum(0).to(at::kInt);
  const auto multiply = [&](const at::Tensor& x, const std::vector<at::Tensor>& weights) {
    return at::_grouped_mm(x, stacked(weights, shape_.experts, type).transpose(1, 2), ends_E);
  };
  const std::vector<at::Tensor> both = multiply(sorted_SC.to(type), ins).chunk(2, -1);
  return multiply(gated(context(), both[0], both[1]), outs);
}

at::Tensor MoeMlp::mix_densely(const at::Tensor& x_NC, const at::Tensor& weights_NK,
                               const at::Tensor& experts_NK) {
  const at::Tensor weights_NE = torch::zeros_like(x_NC.select(1, 0), weights_NK.options())
                                    .unsqueeze(1)
                                    .expand({-1, shape_.experts})
                                    .scatter(1, experts_NK, weights_NK);
  at::Tensor y_NC;
  for (std::size_t i = 0; i < experts_.size(); ++i) {
    const at::Tensor own = experts_[i]->forward(x_NC) *
                           weights_NE.select(1, static_cast<std::int64_t>(i)).unsqueeze(1);
    y_NC = y_NC.defined() ? y_NC + own : own;
  }
  return y_NC.to(x_NC.scalar_type());
}

at::Tensor balance_loss(const at::Tensor& load_2E, std::int64_t rows) {
  const at::Tensor means_2E = load_2E / static_cast<double>(rows);
  return (means_2E[0] * means_2E[1]).sum() * static_cast<double>(load_2E.size(1));
}

}  // namespace kedge::nn
