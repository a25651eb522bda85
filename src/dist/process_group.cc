#include "dist/process_group.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <torch/types.h>

namespace kedge::dist {
namespace {

void check_dense(const at::Tensor& tensor) {
  TORCH_CHECK(tensor.is_non_overlapping_and_dense(),
              "ranks exchange dense tensors; this has sizes ", tensor.sizes(), " and strides ",
              tensor.strides());
}

void check_pair(const at::Tensor& output, const at::Tensor& input) {
  TORCH_CHECK(output.is_contiguous() && input.is_contiguous(),
              "ranks exchange contiguous tensors here; the output has strides ", output.strides(),
              ", the input ", input.strides());
  TORCH_CHECK(output.scalar_type() == input.scalar_type() && output.device() == input.device(),
              "output and input must be of one type and on one device, not ", output.toString(),
              " and ", input.toString());
}

// `whole` holds a piece of each rank.
void check_pieces(const at::Tensor& whole, const at::Tensor& piece, std::int64_t size) {
  TORCH_CHECK(whole.numel() == piece.numel() * size, "one of ", whole.numel(), " elements is not ",
              size, " (ranks) of ", piece.numel());
}

std::vector<std::int64_t> complete(const std::vector<std::int64_t>& rows, const at::Tensor& tensor,
                                   std::int64_t size) {
  const std::int64_t all = tensor.size(0);
  if (rows.empty()) {
    TORCH_CHECK(all % size == 0, all, " rows are not equal pieces for ", size, " ranks");
    return std::vector<std::int64_t>(static_cast<std::size_t>(size), all / size);
  }
  TORCH_CHECK(std::ssize(rows) == size && std::reduce(rows.begin(), rows.end()) == all &&
                  *std::ranges::min_element(rows) >= 0,
              "pieces of ", c10::Join(", ", rows), " rows are not ", all, " rows for ", size,
              " ranks");
  return rows;
}

int check_peer(const ProcessGroup& group, const at::Tensor& tensor, std::int64_t peer) {
  TORCH_CHECK(peer >= 0 && peer < group.size() && peer != group.rank(), "rank ", group.rank(),
              " of ", group.size(), " cannot exchange with rank ", peer);
  check_pair(tensor, tensor);
  return static_cast<int>(peer);
}

}  // namespace

std::unique_ptr<Work> ProcessGroup::start_all_reduce(const at::Tensor& tensor,
                                                     ranks::Collective what, Reduce reduce) {
  check_dense(tensor);
  return do_all_reduce(tensor, what, reduce);
}

std::unique_ptr<Work> ProcessGroup::start_broadcast(const at::Tensor& tensor, std::int64_t root) {
  check_dense(tensor);
  TORCH_CHECK(root >= 0 && root < size(), "there is no rank ", root, " among ", size());
  return do_broadcast(tensor, static_cast<int>(root));
}

std::unique_ptr<Work> ProcessGroup::start_reduce_scatter(const at::Tensor& output,
                                                         const at::Tensor& input, Reduce reduce) {
  check_pair(output, input);
  check_pieces(input, output, size());
  return do_reduce_scatter(output, input, reduce);
}

std::unique_ptr<Work> ProcessGroup::start_all_gather_into(const at::Tensor& output,
                                                          const at::Tensor& input) {
  check_pair(output, input);
  check_pieces(output, input, size());
  return do_all_gather(output, input);
}

at::Tensor ProcessGroup::all_gather(const at::Tensor& tensor) {
  std::vector<std::int64_t> shape = tensor.sizes().vec();
  shape.insert(shape.begin(), size());
  at::Tensor all = torch::empty(shape, tensor.options());
  all_gather_into(all, tensor.contiguous());
  return all;
}

std::unique_ptr<Work> ProcessGroup::start_all_to_all(const at::Tensor& output,
                                                     const at::Tensor& input, const Pieces& rows) {
  check_pair(output, input);
  TORCH_CHECK(
      output.dim() > 0 && input.dim() > 0 && output.sizes().slice(1) == input.sizes().slice(1),
      "an all-to-all exchanges rows of one shape, not of ", output.sizes(), " and ", input.sizes());
  const Pieces all{.output = complete(rows.output, output, size()),
                   .input = complete(rows.input, input, size())};
  return do_all_to_all(output, input, all);
}

std::unique_ptr<Work> ProcessGroup::start_send(const at::Tensor& tensor, std::int64_t to) {
  return do_transfer(tensor, check_peer(*this, tensor, to), ranks::Collective::Send);
}

std::unique_ptr<Work> ProcessGroup::start_receive(const at::Tensor& tensor, std::int64_t from) {
  return do_transfer(tensor, check_peer(*this, tensor, from), ranks::Collective::Receive);
}

void ProcessGroup::finish(std::unique_ptr<Work> work) {
  const ranks::TimedPhase waiting(ranks::RankPhase::InCollective, ranks::own_slot().collective_us);
  work->wait();
}

}  // namespace kedge::dist
