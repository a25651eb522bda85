#include "store/writer.h"

#include <future>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/scratch_folder.h"
#include "store/store.h"
#include "store/test_backend.h"

namespace kedge::store {
namespace {

using testing::SizeIs;

// Holds the writer in the middle of a job until it is let go.
class HeldStore : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = Store::open(folder_.path().string(), kNow, {.max_waiting_bytes = 10'000});
    ASSERT_TRUE(opened);
    store_ = std::move(*opened);
    ASSERT_TRUE(store_->create_run(key_, {}, kNow));
    std::promise<void> begun;
    store_->change(
        [&begun, go = go_.get_future().share(),
         is_first = true](Database&) mutable -> Result<void> {
          if (std::exchange(is_first, false)) {
            begun.set_value();
          }
          go.wait();
          return {};
        },
        [](Result<void>) {});
    begun.get_future().wait();
  }

  // About 100 points of 72 bytes wait for each call.
  std::shared_ptr<std::future<Result<std::uint64_t>>> log_hundred(int step) {
    std::vector<LogPoint> points(100, {.key = "loss", .step = step, .value = 1});
    auto promise = std::make_shared<std::promise<Result<std::uint64_t>>>();
    auto future = std::make_shared<std::future<Result<std::uint64_t>>>(promise->get_future());
    store_->log(key_, std::move(points), kNow,
                [promise](Result<std::uint64_t> done) { promise->set_value(std::move(done)); });
    return future;
  }

  const RunKey key_{"p", "r"};
  std::promise<void> go_;
  ScratchFolder folder_;
  std::unique_ptr<Store> store_;
};

TEST_F(HeldStore, refuses_more_than_it_may_keep_waiting_and_takes_it_later) {
  const auto first = log_hundred(0);
  const auto refused = log_hundred(1)->get();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::Unavailable);
  go_.set_value();
  ASSERT_TRUE(first->get());
  EXPECT_EQ(log_hundred(1)->get(), 100U);
  EXPECT_THAT(store_->read_history(key_, "loss")->points, SizeIs(2));  // a point a step
}

TEST_F(HeldStore, takes_one_that_is_larger_than_the_limit_when_nothing_waits) {
  go_.set_value();
  std::vector<LogPoint> points;
  for (int step = 0; step < 1000; ++step) {
    points.push_back({.key = "loss", .step = step, .value = 1});
  }
  EXPECT_EQ(store_->log(key_, std::move(points), kNow), 1000U);
}

}  // namespace
}  // namespace kedge::store
