#include "nn/log_probs.h"

#include <algorithm>

#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "nn/internal/head_types.h"

namespace kedge::nn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Calls work(begin, count) for stretches of rows.
template <typename Work>
void in_stretches(std::int64_t rows, std::int64_t vocab, std::int64_t scores_at_once,
                  const Work& work) {
  const std::int64_t step = std::max<std::int64_t>(1, scores_at_once / vocab);
  for (std::int64_t begin = 0; begin < rows; begin += step) {
    work(begin, std::min(step, rows - begin));
  }
}

class LogProbs : public torch::autograd::Function<LogProbs> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& features,
                            const at::Tensor& weight, const at::Tensor& targets,
                            std::int64_t scores_at_once) {
    const at::ScalarType type = score_type(features);
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    const at::Tensor rows = features.reshape({-1, features.size(-1)}).to(type);
    const at::Tensor used = weight.to(type);
    const at::Tensor flat = targets.reshape({-1});
    at::Tensor result = torch::empty(flat.sizes(), rows.options().dtype(wide_type(type)));
    in_stretches(rows.size(0), used.size(0), scores_at_once, [&](auto begin, auto count) {
      const at::Tensor wide = rows.narrow(0, begin, count).mm(used.t()).to(result.scalar_type());
      const at::Tensor some = flat.narrow(0, begin, count);
      const at::Tensor own = wide.gather(1, some.clamp_min(0).unsqueeze(1)).squeeze(1);
      result.narrow(0, begin, count).copy_(torch::where(some.ge(0), own - wide.logsumexp(1), 0.0));
    });
    ctx->save_for_backward({features, weight, targets});
    ctx->saved_data["scores_at_once"] = scores_at_once;
    ctx->saved_data["type"] = static_cast<std::int64_t>(type);
    return result.view(targets.sizes());
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    const variable_list saved = ctx->get_saved_variables();
    const auto type = static_cast<at::ScalarType>(ctx->saved_data["type"].toInt());
    const at::Tensor rows = saved[0].reshape({-1, saved[0].size(-1)}).to(type);
    const at::Tensor used = saved[1].to(type);
    const at::Tensor flat = saved[2].reshape({-1});
    const at::Tensor outer = gradients[0].reshape({-1, 1});
    at::Tensor drows = torch::empty_like(rows);
    at::Tensor dweight = saved[1].requires_grad()
                             ? torch::zeros(used.sizes(), used.options().dtype(wide_type(type)))
                             : at::Tensor();
    in_stretches(rows.size(0), used.size(0), ctx->saved_data["scores_at_once"].toInt(),
                 [&](auto begin, auto count) {
                   const at::Tensor some = rows.narrow(0, begin, count);
                   const at::Tensor targets = flat.narrow(0, begin, count).unsqueeze(1);
                   at::Tensor gradient = some.mm(used.t()).to(wide_type(type)).softmax(1).neg_();
                   gradient.scatter_add_(1, targets.clamp_min(0),
                                         torch::ones(targets.sizes(), gradient.options()));
                   gradient.mul_(torch::where(targets.ge(0), outer.narrow(0, begin, count), 0.0));
                   const at::Tensor narrow = gradient.to(type);
                   drows.narrow(0, begin, count).copy_(narrow.mm(used));
                   if (dweight.defined()) {
                     dweight.add_(narrow.t().mm(some));
                   }
                 });
    return {drows.view(saved[0].sizes()).to(saved[0].scalar_type()),
            dweight.defined() ? dweight.to(saved[1].scalar_type()) : dweight,
            {},
            {}};
  }
};

}  // namespace

at::Tensor log_probs(const Head& head, const at::Tensor& targets, std::int64_t scores_at_once) {
  return LogProbs::apply(head.features, head.weight, targets, scores_at_once);
}

}  // namespace kedge::nn
