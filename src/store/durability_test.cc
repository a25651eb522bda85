// What is left of a store whose process was killed, whose disk was full, whose database went away.
#include <csignal>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/file.h"
#include "core/small_disk.h"
#include "store/internal/database.h"
#include "store/store.h"
#include "store/test_backend.h"
#include "store/test_log.h"

namespace kedge::store {
namespace {

using testing::SizeIs;

std::string make_log(std::uint64_t from, std::uint64_t to) {
  std::string frames;
  for (std::uint64_t seq = from; seq < to; ++seq) {
    frames += make_frame({"scalars",
                          seq,
                          kNow + static_cast<std::int64_t>(seq),
                          static_cast<std::int64_t>(seq),
                          {{"a", static_cast<double>(seq)}, {"b", -static_cast<double>(seq)}}});
  }
  return frames;
}

class DurabilityTest : public BackendTest {
 protected:
  // Every point of the first `count` records is there, once.
  void expect_whole(const RunKey& key, std::uint64_t count) {
    const auto a = values_of(key, "a");
    const auto b = values_of(key, "b");
    ASSERT_EQ(a.size(), count);
    ASSERT_EQ(b.size(), count);
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_EQ(a[i], static_cast<double>(i));
      ASSERT_EQ(b[i], -static_cast<double>(i));
    }
  }
};

KEDGE_EACH_BACKEND(DurabilityTest);

// Takes a log in, ever on, and says after each answer how far it is.
[[noreturn]] void take_in_forever(const std::string& address, const RunKey& key, int pipe) {
  auto store = Store::open(address, kNow);
  if (!store) {
    ::_exit(1);
  }
  std::uint64_t seq = (*store)->find_source(key, "a1-r0")->next_seq;
  for (;;) {
    const auto answer = (*store)->ingest({key, "a1-r0", seq, make_log(seq, seq + 37)}, kNow);
    if (!answer) {
      ::_exit(2);
    }
    seq = answer->state.next_seq;
    if (::write(pipe, &seq, sizeof seq) != sizeof seq) {
      ::_exit(3);
    }
  }
}

TEST_P(DurabilityTest, what_was_answered_is_there_after_kill_9) {
  const RunKey key{"mnist", "r"};
  store_.reset();
  std::uint64_t answered = 0;
  for (const int answers : {1, 3, 150, 40, 251}) {
    int ends[2] = {};
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::close(ends[0]);
      take_in_forever(address_, key, ends[1]);
    }
    ::close(ends[1]);
    for (int i = 0; i < answers; ++i) {
      ASSERT_EQ(::read(ends[0], &answered, sizeof answered), sizeof answered);
    }
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    while (::read(ends[0], &answered, sizeof answered) == sizeof answered) {
    }
    ::close(ends[0]);
    reopen();
    const auto state = store_->find_source(key, "a1-r0");
    ASSERT_TRUE(state);
    EXPECT_GE(state->next_seq, answered);
    EXPECT_LE(state->next_seq, answered + 37);
    expect_whole(key, state->next_seq);
    store_.reset();
  }
}

TEST_P(DurabilityTest, a_database_that_goes_away_is_taken_up_again) {
  const RunKey key{"mnist", "r"};
  ingest(key, "a1-r0", 0, make_log(0, 500));
  if (GetParam() == "postgres") {  // a file does not go away
    TestPostgres::instance().restart();
  }
  EXPECT_THAT(values_of(key, "a"), SizeIs(500));
  ingest(key, "a1-r0", 500, make_log(500, 1000));
  expect_whole(key, 1000);
  reopen();
  expect_whole(key, 1000);
}

TEST(FullDisk, refuses_what_does_not_fit_and_goes_on_when_there_is_room) {
  const SmallDisk disk(4096);
  if (!disk.is_mounted()) {
    GTEST_SKIP() << "mounting a small disk needs root";
  }
  auto opened = Store::open((disk.path() / "data").string(), kNow);
  ASSERT_TRUE(opened) << opened.error().message;
  auto store = std::move(*opened);
  const RunKey key{"mnist", "r"};
  std::uint64_t seq = 0;
  const auto take = [&](std::uint64_t count) {
    auto answer = store->ingest({key, "a1-r0", seq, make_log(seq, seq + count)}, kNow);
    seq = answer ? answer->state.next_seq : seq;
    return answer;
  };
  ASSERT_TRUE(take(100));
  const Path ballast = disk.path() / "ballast";
  std::string filler(3U << 20U, 'x');
  while (!write_file_atomic(ballast, filler)) {
    filler.resize(filler.size() / 2);
  }
  bool has_failed = false;
  for (int i = 0; i < 2000 && !has_failed; ++i) {
    const auto answer = take(100);
    has_failed = !answer;
    if (!answer) {
      EXPECT_TRUE(is_disk_full(answer.error())) << answer.error().message;
    }
  }
  ASSERT_TRUE(has_failed);
  // Readers go on with what is committed.
  EXPECT_EQ(store->read_history(key, "a")->points.size(), seq);
  EXPECT_EQ(store->find_source(key, "a1-r0")->next_seq, seq);
  std::filesystem::remove(ballast);
  ASSERT_TRUE(take(100));
  const auto points = store->read_history(key, "a")->points;
  ASSERT_EQ(points.size(), seq);
  for (std::size_t i = 0; i < points.size(); ++i) {
    ASSERT_EQ(points[i].value, static_cast<double>(i));
  }
}

}  // namespace
}  // namespace kedge::store
