// ForeachOptimizer keeps an optimizer's state and hands it to the update in lists that one foreach
// or fused kernel can take, so that a step is a few kernels however many parameters there are.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include "train/optimizer.h"

namespace kedge::train {

// Parameters of one type and one weight decay that have a gradient, and what belongs to them:
// index i is the same parameter in every list.
struct UpdateLists {
  double weight_decay = 0;
  std::vector<at::Tensor> parameters;
  std::vector<at::Tensor> gradients;                // in the parameters' memory layout
  std::vector<std::vector<at::Tensor>> state = {};  // in the order of StateLayout::names
  std::vector<at::Tensor> steps = {};               // updates of each parameter, this one included
};

// Who counts updates: nobody, a tensor where the fused kernels read it, or one on the host.
enum class StepCount : std::uint8_t { None, Device, Host };

// Which state tensors a parameter has. `make` may return an undefined tensor: no such state.
struct StateLayout {
  std::vector<std::string> names = {};
  StepCount step_count = StepCount::None;
  std::function<at::Tensor(const std::string& name, const at::Tensor& parameter)> make = {};
};

class ForeachOptimizer : public Optimizer {
 public:
  void step(const Rate& rate) final;
  nn::NamedTensors state() final;

 protected:
  // Without layout.make, state is zeros like the parameter.
  ForeachOptimizer(const ParameterGroups& groups, StateLayout layout);

  virtual void update(UpdateLists& lists, const Rate& rate) = 0;

 private:
  // A parameter list that one kernel can take: one group, one scalar type.
  struct Bucket {
    double weight_decay = 0;
    nn::NamedTensors parameters;
    std::vector<std::vector<at::Tensor>> state;
    std::vector<at::Tensor> steps;
  };

  Bucket& find_bucket(std::size_t first, const ParameterGroup& group, const at::Tensor& parameter);
  UpdateLists gather(const Bucket& bucket) const;

  StateLayout layout_;
  std::vector<Bucket> buckets_;
  at::Tensor step_;  // float [parameters], in bucket order; Bucket::steps are views of it
};

// parameters -= rate * updates.
void descend(const std::vector<at::Tensor>& parameters, const std::vector<at::Tensor>& updates,
             const Rate& rate);

// parameters -= rate * gradients / divisors.
void descend_by_ratio(const UpdateLists& lists, const std::vector<at::Tensor>& divisors,
                      const Rate& rate);

// parameters *= 1 - rate * weight_decay: decoupled decay.
void decay(const UpdateLists& lists, const Rate& rate);

// A Usage error when a decay rate that must stay below 1 (its bias correction divides by 1 - rate)
// does not.
Result<void> check_below_one(double rate, std::string_view key);

}  // namespace kedge::train
