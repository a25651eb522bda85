#include <algorithm>
#include <cstring>

#include <torch/types.h>
#include <torch/utils.h>

#include "dist/process_group.h"

namespace kedge::dist {
namespace {

at::Tensor bytes_of(std::string_view text, std::int64_t size) {
  at::Tensor bytes = torch::zeros({size}, torch::kByte);
  std::memcpy(bytes.data_ptr(), text.data(), std::min(text.size(), static_cast<std::size_t>(size)));
  return bytes;
}

std::string text_of(const at::Tensor& bytes, std::int64_t size) {
  return {static_cast<const char*>(bytes.const_data_ptr()), static_cast<std::size_t>(size)};
}

}  // namespace

std::string broadcast_text(ProcessGroup& group, std::string_view text) {
  if (group.is_alone()) {
    return std::string(text);
  }
  at::Tensor size = torch::tensor({static_cast<std::int64_t>(text.size())}, torch::kInt64);
  group.broadcast(size);
  const auto count = size.item<std::int64_t>();
  if (count == 0) {
    return {};
  }
  at::Tensor bytes = bytes_of(group.is_first() ? text : std::string_view(), count);
  group.broadcast(bytes);
  return text_of(bytes, count);
}

std::vector<std::string> all_gather_texts(ProcessGroup& group, std::string_view text) {
  const at::Tensor sizes =
      group.all_gather(torch::tensor({static_cast<std::int64_t>(text.size())}, torch::kInt64));
  const auto longest = std::max<std::int64_t>(1, sizes.max().item<std::int64_t>());
  const at::Tensor all = group.all_gather(bytes_of(text, longest)).contiguous();
  std::vector<std::string> texts;
  for (std::int64_t rank = 0; rank < group.size(); ++rank) {
    texts.push_back(text_of(all[rank], sizes[rank][0].item<std::int64_t>()));
  }
  return texts;
}

void all_reduce_sum(ProcessGroup& group, std::vector<double>& values) {
  if (group.is_alone()) {
    return;
  }
  at::Tensor sums = torch::tensor(values, torch::kFloat64);
  group.all_reduce_sum(sums);
  const auto* data = sums.const_data_ptr<double>();
  std::copy(data, data + values.size(), values.begin());
}

}  // namespace kedge::dist
