#include "train/internal/restore.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "nn/tensor_view.h"

namespace kedge::train {

const checkpoint::TensorView* find_tensor(const checkpoint::TensorFile& file,
                                          std::string_view name) {
  const auto found = std::ranges::find(file.tensors(), name, &checkpoint::TensorView::name);
  return found == file.tensors().end() ? nullptr : &*found;
}

Result<void> copy_into(const nn::NamedTensors& live, const checkpoint::TensorFile& file) {
  const torch::NoGradGuard no_grad;
  std::vector<const checkpoint::TensorView*> views;
  for (const auto& [name, tensor] : live) {
    const checkpoint::TensorView* view = find_tensor(file, name);
    if (view == nullptr) {
      return fail(ErrorKind::Usage, fmt::format("the checkpoint has no tensor '{}'", name));
    }
    if (!std::ranges::equal(view->shape, tensor.sizes())) {
      return fail(ErrorKind::Usage, fmt::format("tensor '{}' is {} in the checkpoint, but {} here",
                                                name, view->shape, tensor.sizes().vec()));
    }
    views.push_back(view);
  }
  for (std::size_t i = 0; i < live.size(); ++i) {
    at::Tensor target = live[i].second;
    target.copy_(nn::to_tensor(*views[i]));
  }
  return {};
}

}  // namespace kedge::train
