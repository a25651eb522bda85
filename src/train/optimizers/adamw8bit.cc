#include <cmath>
#include <cstdint>

#include <torch/types.h>

#include "nn/block_codes.h"
#include "train/optimizers/foreach_optimizer.h"

namespace kedge::train {
namespace {

constexpr std::int64_t kBlock = 256;
// Smaller parameters keep moments in float32: they take no room, and are the sensitive ones.
constexpr std::int64_t kLeastCoded = 4096;

bool is_coded(const at::Tensor& parameter) {
  return parameter.numel() >= kLeastCoded;
}

at::Tensor make_moment(const std::string& name, const at::Tensor& parameter) {
  const at::TensorOptions options = parameter.options().dtype(at::kFloat).requires_grad(false);
  if (name.ends_with("absmax")) {
    const std::int64_t blocks = (parameter.numel() + kBlock - 1) / kBlock;
    return is_coded(parameter) ? torch::zeros({blocks}, options) : at::Tensor();
  }
  // Code 0 of a block whose greatest value is 0 means 0.
  return is_coded(parameter) ? torch::zeros({parameter.numel()}, options.dtype(at::kByte))
                             : torch::zeros_like(parameter, options);
}

// Dettmers et al. 2022, "8-bit Optimizers via Block-wise Quantization", as in bitsandbytes.
class AdamW8bit : public ForeachOptimizer {
 public:
  AdamW8bit(const config::OptimizerConfig& config, const ParameterGroups& groups)
      : ForeachOptimizer(groups,
                         {.names = {"exp_avg", "exp_avg_sq", "exp_avg_absmax", "exp_avg_sq_absmax"},
                          .step_count = StepCount::Device,
                          .make = make_moment}),
        config_(config),
        fused_(groups.front().fused) {
    const at::Device device = groups.front().parameters.front().second.device();
    signed_ = nn::dynamic_table(/*is_signed=*/true).to(device);
    unsigned_ = nn::dynamic_table(/*is_signed=*/false).to(device);
  }

 protected:
  void update(UpdateLists& lists, const Rate& rate) override {
    for (std::size_t i = 0; i < lists.parameters.size(); ++i) {
      const at::Tensor& parameter = lists.parameters[i];
      if (!is_coded(parameter)) {
        move(lists, i, rate, lists.state[0][i], lists.state[1][i]);
      } else if (!move_fused(lists, i, rate)) {
        move_coded(lists, i, rate);
      }
    }
  }

 private:
  bool move_fused(const UpdateLists& lists, std::size_t i, const Rate& rate) const {
    return fused_ != nullptr && rate.on_device.defined() &&
           fused_->adamw8bit({.parameter = lists.parameters[i],
                              .gradient = lists.gradients[i],
                              .first = {lists.state[0][i], lists.state[2][i], signed_},
                              .second = {lists.state[1][i], lists.state[3][i], unsigned_},
                              .step = lists.steps[i],
                              .rate = rate.on_device,
                              .weight_decay = lists.weight_decay,
                              .beta1 = config_.beta1,
                              .beta2 = config_.beta2,
                              .eps = config_.eps});
  }

  void move_coded(const UpdateLists& lists, std::size_t i, const Rate& rate) const {
    const at::IntArrayRef sizes = lists.parameters[i].sizes();
    const auto decoded = [&](std::size_t slot, const at::Tensor& table) {
      return nn::decode_blocks({lists.state[slot][i], lists.state[slot + 2][i]}, table, kBlock)
          .view(sizes);
    };
    const auto encode = [&](const at::Tensor& moment, std::size_t slot, const at::Tensor& table) {
      const nn::BlockCodes blocks = nn::encode_blocks(moment, table, kBlock);
      lists.state[slot][i].copy_(blocks.codes);
      lists.state[slot + 2][i].copy_(blocks.absmax);
    };
    const at::Tensor first = decoded(0, signed_);
    const at::Tensor second = decoded(1, unsigned_);
    move(lists, i, rate, first, second);
    encode(first, 0, signed_);
    encode(second, 1, unsigned_);
  }

  // With moments in float32.
  void move(const UpdateLists& lists, std::size_t i, const Rate& rate, const at::Tensor& first,
            const at::Tensor& second) const {
    const at::Tensor gradient = lists.gradients[i].to(at::kFloat);
    first.mul_(config_.beta1).add_(gradient, 1 - config_.beta1);
    second.mul_(config_.beta2).addcmul_(gradient, gradient, 1 - config_.beta2);
    // Exact beyond float32, in which 1 - 0.999 is not.
    const at::Tensor step = lists.steps[i].to(at::kDouble);
    const at::Tensor correction1 = 1 - at::pow(config_.beta1, step);
    const at::Tensor correction2 = (1 - at::pow(config_.beta2, step)).sqrt_();
    const at::Tensor change = first / (second.sqrt() / correction2).add_(config_.eps) / correction1;
    at::Tensor value = lists.parameters[i].to(at::kFloat);
    if (rate.on_device.defined()) {
      value = value * (1 - rate.on_device * lists.weight_decay) - change * rate.on_device;
    } else {
      value = value * (1 - rate.value * lists.weight_decay) - change * rate.value;
    }
    lists.parameters[i].copy_(value);
  }

  config::OptimizerConfig config_;
  device::FusedOps* fused_;
  at::Tensor signed_;
  at::Tensor unsigned_;
};

const Optimizers::Add kAddAdamW8bit({
    .name = "adamw8bit",
    .summary = "AdamW with moments in 8 bits, in blocks of 256 (Dettmers et al. 2022, as in "
               "bitsandbytes)",
    .make = [](const config::OptimizerConfig& config,
               const ParameterGroups& groups) -> Result<std::unique_ptr<Optimizer>> {
      KEDGE_TRY(check_below_one(config.beta1, "beta1"));
      KEDGE_TRY(check_below_one(config.beta2, "beta2"));
      return std::make_unique<AdamW8bit>(config, groups);
    },
    .reads = {"beta1", "beta2", "eps"},
});

}  // namespace
}  // namespace kedge::train
