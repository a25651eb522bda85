#include "ranks/rank_notes.h"

#include <array>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace kedge::ranks {
namespace {

TEST(RankNotes, each_note_arrives_whole) {
  std::array<int, 2> fds{};
  ASSERT_EQ(::pipe2(fds.data(), O_CLOEXEC | O_NONBLOCK), 0);
  const OwnedFd sender(fds[1]);
  ::setenv(kNotesVariable, std::to_string(fds[0]).c_str(), 1);
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> heard;
  const RankNotes notes([&](const std::string& text) {
    const std::scoped_lock lock(mutex);
    heard.push_back(text);
    changed.notify_all();
  });
  const std::string report = "hang: rank 1 does not move\n-> rank 1: step 3";
  send_note(sender.get(), report);
  send_note(sender.get(), std::string(20000, 'x'));
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return heard.size() == 2; });
  EXPECT_THAT(heard, testing::ElementsAre(report, std::string(20000, 'x')));
}

TEST(RankNotes, without_a_supervisor_there_are_none) {
  ::unsetenv(kNotesVariable);
  const RankNotes notes([](const std::string&) { FAIL(); });
}

TEST(RankNotes, who_does_not_read_makes_nobody_wait) {
  std::array<int, 2> fds{};
  ASSERT_EQ(::pipe2(fds.data(), O_CLOEXEC | O_NONBLOCK), 0);
  const OwnedFd reader(fds[0]);
  const OwnedFd sender(fds[1]);
  for (int i = 0; i < 10; ++i) {
    send_note(sender.get(), std::string(40000, 'x'));
  }
  std::array<char, 1> byte{};
  EXPECT_EQ(::read(reader.get(), byte.data(), 1), 1);
}

}  // namespace
}  // namespace kedge::ranks
