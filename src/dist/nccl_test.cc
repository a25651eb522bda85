// Needs a GPU: tensors on it go over NCCL, which is opened by the plugin.
#include <gtest/gtest.h>
#include <torch/types.h>

#include "device/plugin.h"
#include "dist/meeting.h"
#include "dist/rank_threads.h"

namespace kedge::dist {
namespace {

MeetingOptions one_rank(Transport transport) {
  MeetingOptions options = meeting_of(0, 1, 0);
  options.transport = transport;
  options.why_no_gpu = device::plugin() == nullptr ? device::why_missing() : "";
  return options;
}

class NcclOnGpu : public testing::Test {
 protected:
  void SetUp() override {
    device::open();
    if (device::plugin() == nullptr) {
      GTEST_SKIP() << device::why_missing();
    }
    auto group = meet(one_rank(Transport::Nccl));
    ASSERT_TRUE(group) << group.error().message;
    group_ = std::move(*group);
    device::plugin()->leave_default_stream();
  }

  std::unique_ptr<ProcessGroup> group_;
  at::TensorOptions on_gpu_ = at::TensorOptions(at::kFloat).device(at::kCUDA);
};

TEST_F(NcclOnGpu, a_group_of_one_is_one_that_talks) {
  EXPECT_EQ(group_->transport(), "nccl");
  EXPECT_EQ(group_->size(), 1);
  EXPECT_FALSE(group_->is_alone());
  EXPECT_TRUE(group_->can_capture());
}

TEST_F(NcclOnGpu, sums_shares_and_gathers_what_is_on_the_device) {
  at::Tensor values = torch::arange(1000, on_gpu_);
  const at::Tensor before = values.clone();
  group_->all_reduce_sum(values);
  group_->broadcast(values);
  EXPECT_TRUE(values.equal(before));
  EXPECT_TRUE(group_->all_gather(values).equal(before.unsqueeze(0)));
  for (const at::ScalarType type : {at::kDouble, at::kHalf, at::kBFloat16, at::kLong, at::kByte}) {
    at::Tensor other = torch::ones({7}, on_gpu_.dtype(type));
    group_->all_reduce_sum(other);
    EXPECT_TRUE(other.equal(torch::ones({7}, on_gpu_.dtype(type)))) << type;
  }
}

TEST_F(NcclOnGpu, exchanges_pieces_with_itself) {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kLong}) {
    const at::Tensor values = torch::arange(12, on_gpu_.dtype(type)).view({4, 3});
    const at::Tensor piece = torch::empty_like(values);
    group_->reduce_scatter(piece, values);
    EXPECT_TRUE(piece.equal(values)) << type;
    group_->reduce_scatter(piece.zero_(), values, Reduce::Max);
    EXPECT_TRUE(piece.equal(values)) << type;
    group_->all_gather_into(piece.zero_(), values);
    EXPECT_TRUE(piece.equal(values)) << type;
    group_->all_to_all(piece.zero_(), values);
    EXPECT_TRUE(piece.equal(values)) << type;
    group_->all_reduce_max(piece);
    EXPECT_TRUE(piece.equal(values)) << type;
  }
}

TEST_F(NcclOnGpu, what_is_on_the_host_goes_over_gloo) {
  at::Tensor values = torch::arange(10);
  group_->all_reduce_sum(values);
  EXPECT_TRUE(values.equal(torch::arange(10)));
  EXPECT_EQ(broadcast_text(*group_, "hello"), "hello");
  group_->barrier();
}

TEST_F(NcclOnGpu, a_twin_has_connections_of_its_own) {
  const auto twin = group_->make_twin("second");
  at::Tensor first = torch::ones({5}, on_gpu_);
  at::Tensor second = torch::ones({5}, on_gpu_);
  const auto one = group_->start_all_reduce(first, ranks::Collective::AllReduce);
  const auto two = twin->start_all_reduce(second, ranks::Collective::AllReduce);
  two->wait();
  one->wait();
  EXPECT_TRUE(first.equal(second));
}

TEST_F(NcclOnGpu, a_sum_can_be_part_of_a_captured_step) {
  at::Tensor values = torch::ones({100}, on_gpu_);
  const auto work = [&] {
    values.mul_(2);
    group_->start_all_reduce(values, ranks::Collective::Gradients)->wait();
    values.add_(1);
  };
  work();  // once as it comes: NCCL connects with its first call
  const auto graph = device::plugin()->capture(work);
  EXPECT_EQ(values[0].item<float>(), 3);
  graph->replay();
  graph->replay();
  EXPECT_TRUE(values.equal(torch::full({100}, 15.0, on_gpu_)));  // (3 * 2 + 1) * 2 + 1
}

TEST_F(NcclOnGpu, a_scatter_beside_a_gather_can_be_part_of_a_captured_step) {
  at::Tensor values = torch::ones({100}, on_gpu_);
  const at::Tensor pieces = torch::zeros({100}, on_gpu_);
  const at::Tensor gathered = torch::zeros({100}, on_gpu_);
  const auto work = [&] {
    const auto one = group_->start_reduce_scatter(pieces, values);
    const auto two = group_->start_all_gather_into(gathered, values);
    one->wait();
    two->wait();
    values.copy_(pieces + gathered);
  };
  work();
  const auto graph = device::plugin()->capture(work);
  graph->replay();
  EXPECT_TRUE(values.equal(torch::full({100}, 4.0, on_gpu_)));
}

TEST(Nccl, who_has_no_gpu_is_told_so) {
  MeetingOptions options = meeting_of(0, 1, 0);
  options.transport = Transport::Nccl;
  const auto group = meet(options);
  ASSERT_FALSE(group);
  EXPECT_EQ(group.error().kind, ErrorKind::Usage);
  EXPECT_EQ(group.error().message,
            "dist.backend is nccl, but rank 0 has no GPU for it: it trains on the CPU");
}

}  // namespace
}  // namespace kedge::dist
