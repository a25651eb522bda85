#include "nn/internal/attention.h"

#include <optional>
#include <tuple>

#include <torch/types.h>
#include <torch/utils.h>

namespace kedge::nn {
namespace {

at::Tensor within_window(std::int64_t length, std::int64_t window, at::Device device) {
  const at::Tensor all = torch::ones({length, length}, at::TensorOptions(at::kBool).device(device));
  return all.tril().logical_and(all.triu(1 - window));
}

}  // namespace

at::Tensor document_positions(const at::Tensor& documents_BT) {
  const at::Tensor places_T =
      torch::arange(documents_BT.size(1), documents_BT.options().dtype(at::kLong));
  const at::Tensor before_BT = documents_BT.roll(1, 1);
  const at::Tensor first_BT =
      torch::where(documents_BT.ne(before_BT), places_T, torch::zeros_like(places_T));
  return places_T - std::get<0>(first_BT.cummax(1));
}

at::Tensor seen_in_documents(const at::Tensor& documents_BT) {
  const at::Tensor same_BTT = documents_BT.unsqueeze(2).eq(documents_BT.unsqueeze(1));
  return same_BTT.tril().unsqueeze(1);
}

at::Tensor attend(const at::Tensor& q_BHTD, const at::Tensor& k_BKTD, const at::Tensor& v_BKTD,
                  const Attending& attending) {
  const std::int64_t length = q_BHTD.size(2);
  std::optional<at::Tensor> mask;
  if (attending.seen.defined()) {
    mask = attending.seen;
  }
  if (attending.window > 0 && length > attending.window) {
    const at::Tensor window = within_window(length, attending.window, q_BHTD.device());
    mask = mask ? mask->logical_and(window) : window;
  }
  return torch::scaled_dot_product_attention(q_BHTD, k_BKTD, v_BKTD, mask, attending.dropout,
                                             /*is_causal=*/!mask.has_value(), std::nullopt,
                                             /*enable_gqa=*/k_BKTD.size(1) != q_BHTD.size(1));
}

}  // namespace kedge::nn
