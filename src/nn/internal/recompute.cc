#include "nn/internal/recompute.h"

#include <optional>
#include <utility>

#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/types.h>
#include <torch/utils.h>

namespace kedge::nn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// The autocast that a block was computed under: backward passes run outside.
class AutocastAs {
 public:
  explicit AutocastAs(at::DeviceType device)
      : device_(device),
        was_on_(at::autocast::is_autocast_enabled(device)),
        type_(at::autocast::get_autocast_dtype(device)) {}

  // While it lives.
  class Scope {
   public:
    explicit Scope(const AutocastAs& as) : as_(as) {
      is_on_ = at::autocast::is_autocast_enabled(as.device_);
      at::autocast::set_autocast_enabled(as.device_, as.was_on_);
      at::autocast::set_autocast_dtype(as.device_, as.type_);
      at::autocast::increment_nesting();
    }

    ~Scope() {
      if (at::autocast::decrement_nesting() == 0) {
        at::autocast::clear_cache();
      }
      at::autocast::set_autocast_enabled(as_.device_, is_on_);
    }

    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    const AutocastAs& as_;
    bool is_on_;
  };

 private:
  at::DeviceType device_;
  bool was_on_;
  at::ScalarType type_;
};

// What the backward pass needs of a block.
struct Kept : torch::CustomClassHolder {
  std::function<Flow(Flow)> forward;
  at::Tensor positions;
  at::Tensor seen;
  std::optional<AutocastAs> autocast;
  bool gives_delta = false;
};

variable_list all_of(const Flow& out) {
  variable_list tensors = {out.x};
  for (const at::Tensor& tensor : {out.delta, out.load}) {
    if (tensor.defined()) {
      tensors.push_back(tensor);
    }
  }
  return tensors;
}

class RecomputeFunction : public torch::autograd::Function<RecomputeFunction> {
 public:
  // The result's x, and what else of it is defined.
  static variable_list forward(AutogradContext* ctx, const at::Tensor& x,
                               const std::optional<at::Tensor>& delta, const at::Tensor& /*anchor*/,
                               const c10::intrusive_ptr<Kept>& kept) {
    kept->autocast.emplace(x.device().type());
    const Flow out = kept->forward({.x = x,
                                    .delta = delta.value_or(at::Tensor()),
                                    .positions = kept->positions,
                                    .seen = kept->seen});
    kept->gives_delta = out.delta.defined();
    ctx->saved_data["kept"] = at::IValue::make_capsule(kept);
    ctx->save_for_backward({x, delta.value_or(at::Tensor())});
    ctx->set_materialize_grads(false);
    return all_of(out);
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    const auto kept = c10::static_intrusive_pointer_cast<Kept>(ctx->saved_data["kept"].toCapsule());
    const variable_list saved = ctx->get_saved_variables();
    const auto leaf = [](const at::Tensor& tensor) {
      return tensor.defined() ? tensor.detach().requires_grad_() : tensor;
    };
    const Flow in{.x = leaf(saved[0]),
                  .delta = leaf(saved[1]),
                  .positions = kept->positions,
                  .seen = kept->seen};
    Flow out;
    {
      const AutocastAs::Scope autocast(*kept->autocast);
      const torch::AutoGradMode with_gradients(true);
      out = kept->forward(in);
    }
    variable_list roots;
    variable_list upstream;
    const variable_list outputs = all_of(out);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (gradients[i].defined()) {
        roots.push_back(outputs[i]);
        upstream.push_back(gradients[i]);
      }
    }
    torch::autograd::backward(roots, upstream);
    return {in.x.grad(), in.delta.defined() ? in.delta.grad() : at::Tensor(), {}, {}};
  }
};

}  // namespace

Flow recomputed(const std::function<Flow(Flow)>& forward, const Flow& flow) {
  if (!torch::GradMode::is_enabled()) {
    return forward(flow);
  }
  const auto kept = c10::make_intrusive<Kept>();
  kept->forward = forward;
  kept->positions = flow.positions;
  kept->seen = flow.seen;
  // Gives the result a gradient where nothing that goes in has one: in the first blocks of a model
  // whose embedding is frozen.
  const at::Tensor anchor =
      torch::empty({0}, flow.x.options().dtype(at::kFloat).requires_grad(true));
  const variable_list out = RecomputeFunction::apply(
      flow.x, flow.delta.defined() ? std::optional(flow.delta) : std::nullopt, anchor, kept);
  const std::size_t load = kept->gives_delta ? 2 : 1;
  return {.x = out[0],
          .delta = kept->gives_delta ? out[1] : at::Tensor(),
          .positions = flow.positions,
          .seen = flow.seen,
          .load = sum_of(flow.load, out.size() > load ? out[load] : at::Tensor())};
}

}  // namespace kedge::nn
