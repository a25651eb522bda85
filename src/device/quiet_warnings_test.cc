#include "device/quiet_warnings.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

namespace kedge::device {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Heard final : public c10::WarningHandler {
 public:
  void process(const c10::Warning& warning) override { texts.push_back(warning.msg()); }

  std::vector<std::string> texts;
};

// libtorch's own words, from aten/src/ATen/cuda/CublasHandlePool.cpp.
constexpr const char* kCublas =
    "Attempting to run cuBLAS, but there was no current CUDA context! Attempting to set the "
    "primary context...";

TEST(QuietWarnings, only_the_context_that_cublas_makes_itself_is_passed_over) {
  Heard heard;
  QuietWarnings quiet(heard);
  const c10::WarningUtils::WarningHandlerGuard guard(&quiet);
  TORCH_WARN(kCublas);
  TORCH_WARN("another matter");
  EXPECT_THAT(heard.texts, ElementsAre(HasSubstr("another matter")));
}

// Autograd computes on threads of its own and gives their warnings to the caller's handler.
struct Warns : torch::autograd::Function<Warns> {
  static at::Tensor forward(torch::autograd::AutogradContext*, const at::Tensor& x) {
    return x * 2;
  }

  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext*,
                                               torch::autograd::tensor_list gradients) {
    TORCH_WARN(kCublas);
    TORCH_WARN("in backward");
    return {gradients[0] * 2};
  }
};

TEST(QuietWarnings, warnings_of_backward_pass_through_it) {
  Heard heard;
  QuietWarnings quiet(heard);
  const c10::WarningUtils::WarningHandlerGuard guard(&quiet);
  const at::Tensor x = torch::ones({2}, torch::requires_grad());
  Warns::apply(x).sum().backward();
  EXPECT_THAT(heard.texts, ElementsAre(HasSubstr("in backward")));
}

}  // namespace
}  // namespace kedge::device
