#include "train/internal/waits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>

namespace kedge::train {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

TEST(Waits, a_number_read_back_is_found_under_the_operation_that_was_called) {
  const at::Tensor x = torch::rand({4});
  Waits waits(at::kCPU);
  for (int i = 0; i < 2; ++i) {
    const Waits::Watch watch(&waits);
    static_cast<void>(x.sum().item<float>());
    static_cast<void>(x.index({x > 0.5}));  // its size depends on the values
  }
  EXPECT_THAT(waits.found(), ElementsAre(Pair("aten::index", 2), Pair("aten::item", 2)));
  EXPECT_THAT(waits.per_watch(), ElementsAre(Pair("aten::index", 1.0), Pair("aten::item", 1.0)));
}

TEST(Waits, a_value_read_in_the_backward_pass_is_found) {
  const at::Tensor x = torch::rand({4}).set_requires_grad(true);
  Waits waits(at::kCPU);
  {
    const Waits::Watch watch(&waits);
    const at::Tensor y = x * 2;
    y.register_hook([](const at::Tensor& gradient) {
      static_cast<void>(gradient.sum().item<float>());
      return gradient;
    });
    y.sum().backward();
  }
  EXPECT_THAT(waits.found(), ElementsAre(Pair(HasSubstr("MulBackward"), 1)))
      << "the node of the backward pass is outermost";
}

TEST(Waits, tensors_alone_wait_for_nothing) {
  Waits waits(at::kCPU);
  {
    const Waits::Watch watch(&waits);
    const at::Tensor x = torch::rand({4, 4}).set_requires_grad(true);
    torch::relu(torch::mm(x, x) * 3).sum().backward();
  }
  EXPECT_THAT(waits.found(), IsEmpty());
}

TEST(Waits, what_is_read_outside_a_watch_is_nobodys_business) {
  Waits waits(at::kCPU);
  {
    const Waits::Watch watch(nullptr);
  }
  static_cast<void>(torch::ones({}).item<float>());
  EXPECT_THAT(waits.found(), IsEmpty());
}

}  // namespace
}  // namespace kedge::train
