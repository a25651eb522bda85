#include "dist/meeting.h"

#include <atomic>
#include <cstdlib>
#include <mutex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include "dist/rank_threads.h"

namespace kedge::dist {
namespace {

// The ranks of these tests are threads; c10d's flight recorder belongs to a process and takes no
// care of several.
const bool kHasNoRecorder = ::setenv("TORCH_FR_BUFFER_SIZE", "0", 1) == 0 &&
                            ::setenv("TORCH_NCCL_TRACE_BUFFER_SIZE", "0", 1) == 0;

using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Meeting, ranks_sum_share_and_gather) {
  std::atomic<int> checked = 0;
  run_ranks(3, [&](ProcessGroup& group) {
    const auto rank = group.rank();
    at::Tensor values = torch::full({4}, static_cast<double>(rank + 1), torch::kFloat64);
    group.all_reduce_sum(values);
    EXPECT_TRUE(values.equal(torch::full({4}, 6.0, torch::kFloat64)));
    at::Tensor shared = torch::full({2}, rank, torch::kInt64);
    group.broadcast(shared, 2);
    EXPECT_TRUE(shared.equal(torch::full({2}, 2, torch::kInt64)));
    EXPECT_EQ(broadcast_text(group, rank == 0 ? "hello" : "nobody"), "hello");
    EXPECT_EQ(broadcast_text(group, ""), "");
    EXPECT_THAT(all_gather_texts(group, std::string(static_cast<std::size_t>(rank), 'x')),
                ElementsAre("", "x", "xx"));
    ++checked;
  });
  EXPECT_EQ(checked, 3);
}

TEST(Meeting, a_twin_does_not_wait_for_its_group) {
  run_ranks(2, [](ProcessGroup& group) {
    const auto twin = group.make_twin("second");
    at::Tensor first = torch::ones({1});
    at::Tensor second = torch::ones({1});
    // Each rank begins with the other one.
    const auto one =
        (group.is_first() ? group : *twin)
            .start_all_reduce(group.is_first() ? first : second, ranks::Collective::AllReduce);
    const auto two =
        (group.is_first() ? *twin : group)
            .start_all_reduce(group.is_first() ? second : first, ranks::Collective::AllReduce);
    one->wait();
    two->wait();
    EXPECT_EQ(first.item<float>(), 2);
    EXPECT_EQ(second.item<float>(), 2);
  });
}

TEST(Meeting, a_mailbox_waits_for_what_another_puts_there) {
  run_ranks(2, [](ProcessGroup& group) {
    const auto mail = group.open_mailbox();
    if (group.is_first()) {
      mail->put("question", "where?");
      EXPECT_EQ(mail->take("answer"), "here");
    } else {
      EXPECT_EQ(mail->take("question"), "where?");
      mail->put("answer", "here");
    }
  });
}

TEST(Meeting, says_which_ranks_have_not_come) {
  MeetingOptions options = meeting_of(0, 3, find_free_port());
  options.init_timeout = std::chrono::milliseconds(300);
  const auto group = meet(options);
  ASSERT_FALSE(group);
  EXPECT_THAT(group.error().message, HasSubstr("1 of 3 ranks"));
  EXPECT_THAT(group.error().message, HasSubstr("missing: rank 1, 2"));
  EXPECT_THAT(group.error().hint, HasSubstr("takes itself for rank 0"));
}

TEST(Meeting, says_when_nobody_listens) {
  MeetingOptions options = meeting_of(1, 2, find_free_port());
  options.init_timeout = std::chrono::milliseconds(300);
  const auto group = meet(options);
  ASSERT_FALSE(group);
  EXPECT_THAT(group.error().message, HasSubstr("rank 1 cannot reach rank 0 at 127.0.0.1"));
}

TEST(Meeting, says_when_two_processes_have_one_rank) {
  const int port = find_free_port();
  std::mutex mutex;
  std::vector<std::string> errors;
  std::vector<std::thread> threads;
  for (const std::int64_t rank : {0, 1, 1}) {
    threads.emplace_back([&, rank] {
      MeetingOptions options = meeting_of(rank, 3, port);
      options.init_timeout = std::chrono::seconds(3);
      const auto group = meet(options);
      const std::lock_guard lock(mutex);
      errors.push_back(group ? "" : group.error().message);
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_THAT(errors, testing::Contains(HasSubstr("two processes are rank 1 of 3")));
}

TEST(Meeting, a_wrong_interface_is_answered_with_those_there_are) {
  run_ranks(1, [](ProcessGroup&) {});
  MeetingOptions options = meeting_of(0, 1, find_free_port());
  options.interface = "nothing0";
  const auto group = meet(options);
  ASSERT_FALSE(group);
  EXPECT_THAT(group.error().hint, HasSubstr("lo"));
}

TEST(Meeting, a_lost_peer_is_an_error_and_no_hang) {
  const int port = find_free_port();
  std::string message;
  std::thread other([&] {
    const auto group = meet(meeting_of(1, 2, port));
    ASSERT_TRUE(group);  // and it is gone at once
  });
  const auto group = meet(meeting_of(0, 2, port));
  ASSERT_TRUE(group);
  other.join();
  at::Tensor values = torch::ones({1});
  try {
    (*group)->all_reduce_sum(values);
  } catch (const PeerError& error) {
    message = error.what();
  }
  EXPECT_THAT(message, HasSubstr("another rank is gone or hangs"));
}

}  // namespace
}  // namespace kedge::dist
