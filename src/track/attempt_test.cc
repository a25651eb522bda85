#include "track/attempt.h"

#include <atomic>
#include <barrier>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/file.h"
#include "core/host_name.h"
#include "core/result.h"
#include "core/scratch_folder.h"
#include "track/internal/attempt_file.h"
#include "track/internal/identity.h"

namespace kedge::track {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

// A process of its own that runs `work` with the writing end of a pipe.
class Child {
 public:
  explicit Child(const std::function<void(int)>& work) {
    int ends[2];
    KEDGE_CHECK(::pipe(ends) == 0, "a test can make a pipe");
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(ends[0]);
      work(ends[1]);
      ::_exit(0);
    }
    ::close(ends[1]);
    read_ = OwnedFd(ends[0]);
  }

  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  ~Child() { end(SIGKILL); }

  pid_t pid() const { return pid_; }

  // The next number the child wrote, or -1 when it has ended.
  int read() const {
    int value = -1;
    return ::read(read_.get(), &value, sizeof value) == sizeof value ? value : -1;
  }

  void end(int signal_number) {
    if (pid_ > 0) {
      ::kill(pid_, signal_number);
      ::waitpid(std::exchange(pid_, -1), nullptr, 0);
    }
  }

 private:
  pid_t pid_ = -1;
  OwnedFd read_;
};

void tell(int fd, int value) {
  KEDGE_CHECK(::write(fd, &value, sizeof value) == sizeof value, "a child can write to its pipe");
}

class AttemptTest : public testing::Test {
 protected:
  // An attempt as a process elsewhere would have left it, last touched `age_s` ago.
  void write_attempt(int number, const nlohmann::json& changes, double age_s) {
    const ProcessIdentity here = identify_this_process();
    nlohmann::json json = {{"format", "kedge-attempt"},
                           {"version", 1},
                           {"host", "elsewhere"},
                           {"machine_id", here.machine_id},
                           {"boot_id", here.boot_id},
                           {"pid_namespace", here.pid_namespace},
                           {"pid", 4711},
                           {"process_start", 5},
                           {"user", "ann"},
                           {"job", ""},
                           {"job_starts", 0},
                           {"started", "2026-11-15T05:00:00Z"},
                           {"state", "running"}};
    json.update(changes.is_null() ? nlohmann::json::object() : changes);
    write_text(number, json.dump(), age_s);
  }

  void write_text(int number, const std::string& text, double age_s) {
    ASSERT_TRUE(make_dirs(run_ / "attempts"));
    const Path path = attempt_path(run_, number);
    ASSERT_TRUE(write_file_atomic(path, text));
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    now.tv_sec -= static_cast<time_t>(age_s);
    const timespec times[2] = {now, now};
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  }

  std::string state(int number) { return list_attempts(run_).at(std::size_t(number) - 1).state; }

  ScratchFolder folder_;
  Path run_ = folder_ / "run";
  TakeOptions at_once_ = {.may_wait = false};
};

TEST_F(AttemptTest, the_first_attempt_is_1_and_says_who_holds_the_run) {
  auto attempt = Attempt::take(run_);
  ASSERT_TRUE(attempt);
  EXPECT_EQ(attempt->number(), 1);
  EXPECT_FALSE(attempt->is_lost());
  ASSERT_TRUE(attempt->set_facts(40, {{"train.lr", "0.1", "0.2"}}));
  const auto list = list_attempts(run_);
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0].state, "running");
  EXPECT_EQ(list[0].pid, ::getpid());
  EXPECT_EQ(list[0].from_step, 40);
  EXPECT_EQ(list[0].changes, (std::vector<ConfigChange>{{"train.lr", "0.1", "0.2"}}));
  EXPECT_EQ((*find_live_holder(run_))->number, 1);
  ASSERT_TRUE(attempt->end(RunState::Interrupted));
  EXPECT_EQ(state(1), "interrupted");
  EXPECT_FALSE(*find_live_holder(run_));
  // Nothing but the attempts is left in the folder.
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(run_ / "attempts"), {}), 1);
}

TEST_F(AttemptTest, an_attempt_let_go_without_a_word_was_killed) {
  {
    const auto attempt = Attempt::take(run_);
  }
  EXPECT_EQ(state(1), "killed");
  EXPECT_EQ(Attempt::take(run_)->number(), 2);
}

TEST_F(AttemptTest, a_live_holder_on_this_machine_is_named) {
  const Child holder([&](int pipe) {
    const auto attempt = Attempt::take(run_);
    tell(pipe, attempt->number());
    ::pause();
  });
  ASSERT_EQ(holder.read(), 1);
  const auto second = Attempt::take(run_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, ErrorKind::Unavailable);
  EXPECT_THAT(second.error().message, HasSubstr(fmt::format("held by process {} on {} (attempt 1",
                                                            holder.pid(), host_name())));
  EXPECT_THAT(second.error().hint, HasSubstr("run.id"));
  EXPECT_EQ(list_attempts(run_).size(), 1U);
}

TEST_F(AttemptTest, a_holder_killed_on_this_machine_is_followed_at_once) {
  Child holder([&](int pipe) {
    const auto attempt = Attempt::take(run_);
    tell(pipe, attempt->number());
    ::pause();
  });
  ASSERT_EQ(holder.read(), 1);
  holder.end(SIGKILL);
  EXPECT_EQ(Attempt::take(run_, at_once_)->number(), 2);
  EXPECT_EQ(state(1), "killed");
}

TEST_F(AttemptTest, a_holder_that_ended_but_was_not_waited_for_is_dead) {
  const Child holder([&](int pipe) {
    const auto attempt = Attempt::take(run_);
    tell(pipe, attempt->number());
    ::raise(SIGKILL);
  });
  ASSERT_EQ(holder.read(), 1);
  ASSERT_EQ(holder.read(), -1);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(holder.pid()), &info, WEXITED | WNOWAIT), 0);
  EXPECT_TRUE(Attempt::take(run_, at_once_));
}

TEST_F(AttemptTest, of_threads_that_race_for_a_run_exactly_one_gets_it) {
  constexpr int kRounds = 200;
  constexpr int kThreads = 4;
  for (int round = 1; round <= kRounds; ++round) {
    std::barrier together(kThreads);
    std::atomic<int> winners = 0;
    std::vector<std::optional<Result<Attempt>>> taken(kThreads);
    std::vector<std::thread> threads;
    for (auto& slot : taken) {
      threads.emplace_back([&] {
        together.arrive_and_wait();
        slot.emplace(Attempt::take(run_));
        winners += slot->has_value() ? 1 : 0;
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    ASSERT_EQ(winners, 1) << round;
    for (auto& slot : taken) {
      if (slot->has_value()) {
        ASSERT_EQ((*slot)->number(), round);
      } else {
        ASSERT_EQ(slot->error().kind, ErrorKind::Unavailable) << slot->error().message;
      }
    }
  }
}

TEST_F(AttemptTest, of_processes_that_race_for_a_number_exactly_one_gets_it) {
  constexpr int kNumbers = 200;
  for (const auto claim : {claim_attempt, claim_attempt_without_link}) {
    std::filesystem::remove_all(run_);
    ASSERT_TRUE(make_dirs(run_ / "attempts"));
    std::vector<std::unique_ptr<Child>> children;
    for (int i = 0; i < 3; ++i) {
      children.push_back(std::make_unique<Child>([&](int pipe) {
        for (int number = 1; number <= kNumbers; ++number) {
          const auto won = claim(run_, number, "content");
          if (!won || *won) {
            tell(pipe, won ? number : 0);
          }
        }
      }));
    }
    std::map<int, int> winners;
    for (const auto& child : children) {
      for (int number = child->read(); number >= 0; number = child->read()) {
        ++winners[number];
      }
    }
    ASSERT_EQ(winners.size(), std::size_t{kNumbers});
    for (const auto& [number, count] : winners) {
      EXPECT_EQ(count, 1) << number;
      EXPECT_EQ(*read_file(attempt_path(run_, number)), "content");
    }
  }
}

TEST_F(AttemptTest, a_fresh_holder_elsewhere_may_be_alive) {
  write_attempt(1, {}, 10);
  const auto taken = Attempt::take(run_, at_once_);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().kind, ErrorKind::Unavailable);
  EXPECT_THAT(taken.error().message,
              HasSubstr("held by process 4711 on elsewhere (attempt 1, user ann) since "
                        "2026-11-15T05:00:00Z, last sign of life 10 s ago"));
}

TEST_F(AttemptTest, a_holder_elsewhere_that_was_silent_for_a_minute_is_dead) {
  write_attempt(1, {}, 61);
  EXPECT_EQ(Attempt::take(run_, at_once_)->number(), 2);
}

TEST_F(AttemptTest, a_holder_elsewhere_that_falls_silent_is_followed_after_waiting) {
  write_attempt(1, {}, 0);
  std::vector<std::string> lines;
  const auto taken =
      Attempt::take(run_, {.on_wait = [&](std::string_view line) { lines.emplace_back(line); },
                           .dead_after = milliseconds(60)});
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->number(), 2);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_THAT(lines[0], HasSubstr("waiting to see whether process 4711 on elsewhere"));
}

TEST_F(AttemptTest, a_holder_elsewhere_that_gives_a_sign_of_life_keeps_the_run) {
  write_attempt(1, {}, 1);
  const auto taken =
      Attempt::take(run_, {.on_wait =
                               [&](std::string_view) {
                                 ::utimensat(AT_FDCWD, attempt_path(run_, 1).c_str(), nullptr, 0);
                               },
                           .dead_after = milliseconds(4000)});
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().kind, ErrorKind::Unavailable);
}

TEST_F(AttemptTest, a_holder_elsewhere_that_ends_meanwhile_lets_the_run_go) {
  write_attempt(1, {}, 1);
  const auto taken = Attempt::take(
      run_, {.on_wait =
                 [&](std::string_view) {
                   write_attempt(1, {{"state", "interrupted"}, {"ended", "2026-11-15T05:01:00Z"}},
                                 0);
                 },
             .dead_after = milliseconds(4000)});
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->number(), 2);
}

TEST_F(AttemptTest, waiting_can_be_stopped) {
  write_attempt(1, {}, 1);
  const auto taken = Attempt::take(run_, {.should_stop = [] { return true; }});
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().kind, ErrorKind::Interrupted);
}

TEST_F(AttemptTest, a_holder_from_before_a_reboot_is_dead) {
  write_attempt(1, {{"host", host_name()}, {"boot_id", "another"}}, 0);
  EXPECT_TRUE(Attempt::take(run_, at_once_));
}

TEST_F(AttemptTest, a_holder_in_another_container_of_this_machine_may_be_alive) {
  write_attempt(1, {{"host", host_name()}, {"pid_namespace", "pid:[1]"}}, 0);
  EXPECT_FALSE(Attempt::take(run_, at_once_));
}

TEST_F(AttemptTest, a_process_number_used_again_is_another_process) {
  write_attempt(1, {{"host", host_name()}, {"pid", ::getpid()}, {"process_start", 1}}, 0);
  EXPECT_TRUE(Attempt::take(run_, at_once_));
}

TEST_F(AttemptTest, a_job_started_again_follows_its_last_start_at_once) {
  write_attempt(1, {{"job", "test 77"}, {"job_starts", 0}}, 0);
  ::setenv("TEST_JOB", "77", 1);
  EXPECT_FALSE(Attempt::take(run_, at_once_));  // another task of the same start
  ::setenv("TEST_STARTS", "1", 1);
  EXPECT_TRUE(Attempt::take(run_, at_once_));
  ::unsetenv("TEST_JOB");
  ::unsetenv("TEST_STARTS");
}

TEST_F(AttemptTest, a_file_that_cannot_be_read_counts_by_its_age) {
  for (const char* text : {"", "{", "[]", "{}", "null", "{\"format\":\"kedge-attempt\""}) {
    write_text(1, text, 0);
    const auto taken = Attempt::take(run_, at_once_);
    ASSERT_FALSE(taken) << text;
    EXPECT_THAT(taken.error().message, HasSubstr("attempt 1 (whose file cannot be read)"));
    EXPECT_EQ(state(1), "running");
    write_text(1, text, 100);
    EXPECT_TRUE(Attempt::take(run_, at_once_)) << text;
    EXPECT_EQ(state(1), "killed");
    std::filesystem::remove_all(run_);
  }
}

TEST_F(AttemptTest, fields_of_wrong_types_are_no_reason_to_fail) {
  write_text(1,
             R"({"format":"kedge-attempt","host":5,"pid":"x","from_step":"y","changes":[1,{}],)"
             R"("ended":{},"started":"yesterday"})",
             100);
  const auto list = list_attempts(run_);
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0].state, "killed");
  EXPECT_FALSE(list[0].from_step);
  EXPECT_TRUE(Attempt::take(run_, at_once_));
}

TEST_F(AttemptTest, other_names_in_the_folder_are_no_attempts) {
  ASSERT_TRUE(make_dirs(run_ / "attempts"));
  for (const char* name :
       {"01.json", "-1.json", "x.json", ".json", "3.json~", "99999999999.json"}) {
    ASSERT_TRUE(write_file_atomic(run_ / "attempts" / name, "{}"));
  }
  EXPECT_EQ(Attempt::take(run_)->number(), 1);
}

TEST_F(AttemptTest, a_stopped_holder_that_continues_sees_that_it_lost_the_run) {
  Child holder([&](int pipe) {
    auto attempt = Attempt::take(run_, {.heartbeat_every = milliseconds(2)});
    tell(pipe, attempt->number());
    while (!attempt->is_lost()) {
      std::this_thread::yield();
    }
    tell(pipe, attempt->confirm() ? 0 : 77);
    ::pause();
  });
  ASSERT_EQ(holder.read(), 1);
  ASSERT_EQ(::kill(holder.pid(), SIGSTOP), 0);
  int status = 0;
  ASSERT_EQ(::waitpid(holder.pid(), &status, WUNTRACED), holder.pid());
  EXPECT_FALSE(Attempt::take(run_));  // it is stopped, not dead
  // From elsewhere only its silence is seen.
  write_attempt(1, {}, 0);
  const auto second =
      Attempt::take(run_, {.on_wait = [](std::string_view) {}, .dead_after = milliseconds(50)});
  ASSERT_TRUE(second);
  EXPECT_EQ(second->number(), 2);
  ASSERT_EQ(::kill(holder.pid(), SIGCONT), 0);
  EXPECT_EQ(holder.read(), 77);
  EXPECT_FALSE(second->is_lost());
}

TEST_F(AttemptTest, a_holder_is_alive_from_elsewhere_as_long_as_its_heart_beats) {
  const auto attempt = Attempt::take(run_, {.heartbeat_every = milliseconds(2)});
  const auto first = find_modified_s(attempt_path(run_, 1));
  while (find_modified_s(attempt_path(run_, 1)) == first) {
    std::this_thread::yield();
  }
  EXPECT_FALSE(attempt->is_lost());
}

TEST_F(AttemptTest, claims_of_killed_processes_are_cleared_away) {
  ASSERT_TRUE(make_dirs(run_ / "attempts"));
  const Path old = run_ / "attempts" / ".claim-h-1-1";
  const Path fresh = run_ / "attempts" / ".claim-h-2-1";
  ASSERT_TRUE(write_file_atomic(old, "x"));
  ASSERT_TRUE(write_file_atomic(fresh, "x"));
  const timespec times[2] = {{1000, 0}, {1000, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, old.c_str(), times, 0), 0);
  ASSERT_TRUE(Attempt::take(run_));
  EXPECT_FALSE(std::filesystem::exists(old));
  EXPECT_TRUE(std::filesystem::exists(fresh));
}

TEST_F(AttemptTest, the_list_says_how_long_each_attempt_lived) {
  write_attempt(1, {{"ended", "2026-11-15T05:10:30Z"}, {"state", "interrupted"}}, 0);
  write_attempt(2, {{"from_step", 120}}, 0);  // not the last, so it cannot be alive
  write_attempt(3, {}, 0);
  const Path second = attempt_path(run_, 2);
  const timespec beat = {1794718860, 0};  // 2026-11-15T05:01:00Z
  const timespec times[2] = {beat, beat};
  ASSERT_EQ(::utimensat(AT_FDCWD, second.c_str(), times, 0), 0);
  const auto list = list_attempts(run_);
  ASSERT_EQ(list.size(), 3U);
  EXPECT_EQ(list[0].seconds, 630);
  EXPECT_EQ(list[1].seconds, 60);
  EXPECT_EQ(list[1].heartbeat_s, 1794718860);
  EXPECT_EQ(list[1].from_step, 120);
  EXPECT_EQ(list[0].state, "interrupted");
  EXPECT_EQ(list[1].state, "killed");
  EXPECT_EQ(list[2].state, "running");
}

TEST_F(AttemptTest, a_folder_that_cannot_be_made_is_an_error_with_its_name) {
  ASSERT_TRUE(write_file_atomic(folder_ / "file", "x"));
  const auto taken = Attempt::take(folder_ / "file");
  ASSERT_FALSE(taken);
  EXPECT_THAT(taken.error().message, HasSubstr((folder_ / "file").string()));
}

}  // namespace
}  // namespace kedge::track
