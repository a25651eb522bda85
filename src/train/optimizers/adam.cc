#include <cstdint>
#include <optional>

#include <torch/types.h>

#include "train/optimizers/foreach_optimizer.h"

namespace kedge::train {
namespace {

enum class Decay : std::uint8_t { InGradient, Decoupled };

class Adam : public ForeachOptimizer {
 public:
  Adam(const config::OptimizerConfig& config, const ParameterGroups& groups, Decay decay)
      : ForeachOptimizer(groups,
                         {.names = {"exp_avg", "exp_avg_sq"}, .step_count = StepCount::Device}),
        config_(config),
        decay_(decay) {}

  bool can_skip_on_device() const override { return true; }

 protected:
  void update(UpdateLists& lists, const Rate& rate) override {
    if (rate.on_device.defined()) {
      update_by(lists, rate.on_device, rate);
    } else {
      update_by(lists, rate.value, rate);
    }
  }

 private:
  template <typename Lr>
  void update_by(UpdateLists& lists, const Lr& lr, const Rate& rate) const {
    const auto run = [&](auto kernel) {
      kernel(lists.parameters, lists.gradients, lists.state[0], lists.state[1],
             /*max_exp_avg_sqs=*/at::TensorList{}, lists.steps, lr, config_.beta1, config_.beta2,
             lists.weight_decay, config_.eps, /*amsgrad=*/false, /*maximize=*/false,
             /*grad_scale=*/std::nullopt, rate.found_inf);
    };
    if (decay_ == Decay::Decoupled) {
      run([](auto&&... arguments) { at::_fused_adamw_(arguments...); });
    } else {
      run([](auto&&... arguments) { at::_fused_adam_(arguments...); });
    }
  }

  config::OptimizerConfig config_;
  Decay decay_;
};

Optimizers::Entry entry(std::string_view name, std::string_view summary, Decay decay) {
  return {.name = name,
          .summary = summary,
          .make = [decay](const config::OptimizerConfig& config,
                          const ParameterGroups& groups) -> Result<std::unique_ptr<Optimizer>> {
            KEDGE_TRY(check_below_one(config.beta1, "beta1"));
            KEDGE_TRY(check_below_one(config.beta2, "beta2"));
            return std::make_unique<Adam>(config, groups, decay);
          },
          .reads = {"beta1", "beta2", "eps"}};
}

const Optimizers::Add kAddAdam(
    entry("adam", "Adam, weight decay as an L2 penalty in the gradient (Kingma and Ba 2015)",
          Decay::InGradient));
const Optimizers::Add kAddAdamW(entry(
    "adamw", "Adam with decoupled weight decay (Loshchilov and Hutter 2019)", Decay::Decoupled));

}  // namespace
}  // namespace kedge::train
