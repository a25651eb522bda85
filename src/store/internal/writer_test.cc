#include "store/internal/writer.h"

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/scratch_folder.h"
#include "store/internal/tables.h"
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
    Tables(*store_).change(
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

// What a thread logs in a turn is answered after its end: by that thread, once the writer's own has
// gone back to sleep.
TEST(Turn, commits_small_changes_together_on_the_thread_that_made_them) {
  const ScratchFolder folder;
  const RunKey key{"p", "r"};
  auto opened = Store::open(folder.path().string(), kNow);
  ASSERT_TRUE(opened);
  Store& store = **opened;
  ASSERT_TRUE(store.create_run(key, {}, kNow));
  int step = 0;
  bool is_own = false;
  while (!is_own && step < 10'000) {
    std::vector<std::promise<std::thread::id>> answers(3);
    auto turn = store.begin_turn();
    for (auto& answer : answers) {
      store.log(key, {{"loss", step++, 0.5}}, kNow, [&](const Result<std::uint64_t>& done) {
        EXPECT_EQ(done, 1U);
        answer.set_value(std::this_thread::get_id());
      });
    }
    turn.reset();
    is_own = true;
    for (auto& answer : answers) {
      is_own = answer.get_future().get() == std::this_thread::get_id() && is_own;
    }
  }
  EXPECT_TRUE(is_own);
  EXPECT_THAT(store.read_history(key, "loss")->points, SizeIs(step));
  EXPECT_EQ(store.find_facts(key)->last_step, step - 1);
}

TEST(Turn, leaves_a_large_change_and_a_refused_one_to_the_same_rules) {
  const ScratchFolder folder;
  const RunKey key{"p", "r"};
  auto opened = Store::open(folder.path().string(), kNow);
  ASSERT_TRUE(opened);
  Store& store = **opened;
  ASSERT_TRUE(store.create_run(key, {}, kNow));
  std::promise<std::uint64_t> large;
  std::promise<ErrorKind> refused;
  {
    const auto turn = store.begin_turn();
    store.log(key, std::vector<LogPoint>(1000, {.key = "a", .step = 1, .value = 1}), kNow,
              [&](const Result<std::uint64_t>& done) { large.set_value(done.value_or(0)); });
    store.log({"p", "nobody"}, {{"a", 1, 1.0}}, kNow,
              [&](const Result<std::uint64_t>& done) { refused.set_value(done.error().kind); });
  }
  EXPECT_EQ(large.get_future().get(), 1000U);
  EXPECT_EQ(refused.get_future().get(), ErrorKind::NotFound);
}

// Threads that take turns, one that waits for its changes, and the checkpoints between them.
TEST(Turn, loses_nothing_when_many_threads_are_at_it) {
  constexpr int kThreads = 3;
  constexpr int kCalls = 400;
  const ScratchFolder folder;
  auto opened = Store::open(folder.path().string(), kNow);
  ASSERT_TRUE(opened);
  Store& store = **opened;
  std::atomic<int> answered = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    const RunKey key{"p", fmt::format("r{}", i)};
    ASSERT_TRUE(store.create_run(key, {}, kNow));
    threads.emplace_back([&store, &answered, key, i] {
      for (int step = 0; step < kCalls; ++step) {
        if (i == 0) {
          answered += static_cast<int>(store.log(key, {{"loss", step, 1.0}}, kNow).value_or(0));
          continue;
        }
        const auto turn = store.begin_turn();
        store.log(key, {{"loss", step, 1.0}}, kNow, [&](const Result<std::uint64_t>& done) {
          answered += static_cast<int>(done.value_or(0));
        });
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  ASSERT_TRUE(
      Tables(store).change([](Database&) -> Result<void> { return {}; }));  // after all before it
  EXPECT_EQ(answered, kThreads * kCalls);
  for (int i = 0; i < kThreads; ++i) {
    EXPECT_THAT(store.read_history({"p", fmt::format("r{}", i)}, "loss")->points, SizeIs(kCalls));
  }
}

}  // namespace
}  // namespace kedge::store
