// Turns a loader's batch into tensors on the device: pixels stay 8-bit until they are there.
#pragma once

#include <deque>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>

#include "data/loader.h"

namespace kedge::train {

struct Inputs {
  at::Tensor x;  // images: float [N, C, H, W]; tokens: int64 [N, T]
  at::Tensor y;  // int64 [N], or [N, T]
};

// How images become floats; kept with the model, because inference must do the same.
struct Normalise {
  std::vector<double> mean;
  std::vector<double> std;
};

class InputMaker {
 public:
  struct Options {
    at::Device device{at::kCPU};
    at::ScalarType type = at::kFloat;
    bool channels_last = true;
  };

  InputMaker(const Normalise& normalise, Options options);

  Inputs operator()(const data::Batch& batch);

 private:
  Inputs images(const data::Batch& batch);
  Inputs tokens(const data::Batch& batch);
  at::Tensor send(const at::Tensor& host);

  // Page-locked memory must not go back to the loader before the copy engine has read it.
  struct InFlight {
    at::Tensor host;
    c10::Event done;
  };

  Options options_;
  at::Tensor scale_;  // [1, C, 1, 1]: 1 / (255 std)
  at::Tensor shift_;  // -mean / std
  std::deque<InFlight> in_flight_;
};

// Page-locked memory when there is a GPU to copy to.
data::Allocate batch_allocator(at::Device device, bool pinned);

}  // namespace kedge::train
