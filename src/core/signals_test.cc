#include "core/signals.h"

#include <csignal>
#include <functional>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/process.h"

namespace kedge {
namespace {

// How a forked child ends that does this: as in a shell, 128 + n when signal n ended it.
int end_of_child(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::_exit(body());
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

TEST(StopSignals, each_signal_becomes_a_flag_with_its_name) {
  const std::array<std::pair<int, std::string>, 4> signals = {
      {{SIGTERM, "SIGTERM"}, {SIGINT, "SIGINT"}, {SIGHUP, "SIGHUP"}, {SIGUSR1, "SIGUSR1"}}};
  for (const auto& [number, name] : signals) {
    const StopSignals stop;
    EXPECT_FALSE(stop.requested());
    EXPECT_EQ(stop.name(), "");
    ::raise(number);
    EXPECT_EQ(stop.requested(), number);
    EXPECT_EQ(stop.name(), name);
  }
}

TEST(StopSignals, the_first_signal_is_the_one_reported) {
  const StopSignals stop;
  ::raise(SIGUSR1);
  ::raise(SIGTERM);
  EXPECT_EQ(stop.requested(), SIGUSR1);
}

TEST(StopSignals, a_second_sigint_ends_the_process_by_that_signal) {
  EXPECT_EQ(end_of_child([] {
              const StopSignals stop;
              ::raise(SIGINT);
              ::raise(SIGINT);
              return 0;
            }),
            128 + SIGINT);
}

TEST(StopSignals, repeated_warnings_of_a_scheduler_do_nothing_more) {
  EXPECT_EQ(end_of_child([] {
              const StopSignals stop;
              for (int i = 0; i < 3; ++i) {
                ::raise(SIGTERM);
                ::raise(SIGUSR1);
                ::raise(SIGHUP);
              }
              ::raise(SIGINT);
              return stop.requested() == SIGTERM ? 85 : 1;
            }),
            85);
}

TEST(StopSignals, an_ignored_signal_stays_ignored) {
  EXPECT_EQ(end_of_child([] {
              ::signal(SIGHUP, SIG_IGN);
              {
                const StopSignals stop;
                ::raise(SIGHUP);
                if (stop.requested()) {
                  return 1;
                }
                ::raise(SIGTERM);
                if (stop.requested() != SIGTERM) {
                  return 2;
                }
              }
              ::raise(SIGHUP);
              return 0;
            }),
            0);
}

TEST(StopSignals, the_old_handlers_come_back) {
  EXPECT_EQ(end_of_child([] {
              {
                const StopSignals stop;
              }
              ::raise(SIGTERM);
              return 0;
            }),
            128 + SIGTERM);
  EXPECT_EQ(end_of_child([] {
              ::signal(SIGINT, [](int) { ::_exit(7); });
              {
                const StopSignals stop;
                ::raise(SIGINT);
              }
              ::raise(SIGINT);
              return 0;
            }),
            7);
}

TEST(StopSignals, a_signal_taken_by_another_thread_counts) {
  const StopSignals stop;
  std::thread thread([] { ::raise(SIGTERM); });  // raise() is to the calling thread
  thread.join();
  EXPECT_EQ(stop.requested(), SIGTERM);
}

TEST(StopSignals, a_forked_worker_dies_by_the_signal_and_tells_nobody) {
  const StopSignals stop;
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGUSR1}) {
    EXPECT_EQ(end_of_child([number] {
                ::raise(number);
                return 0;
              }),
              128 + number);
  }
  EXPECT_FALSE(stop.requested());
}

TEST(StopSignals, a_forked_worker_may_have_its_own) {
  const StopSignals stop;
  EXPECT_EQ(end_of_child([] {
              const StopSignals own;
              ::raise(SIGTERM);
              return own.requested() == SIGTERM ? 85 : 1;
            }),
            85);
  EXPECT_FALSE(stop.requested());
}

TEST(StopSignals, interrupted_reads_go_on) {
  EXPECT_EQ(end_of_child([] {
              const StopSignals stop;
              std::array<int, 2> ends{};
              if (::pipe(ends.data()) != 0) {
                return 1;
              }
              const pid_t reader = ::getpid();
              if (::fork() == 0) {
                // The signal is sent once the reader sleeps in read(): "pid (name) S ...".
                const std::string stat = "/proc/" + std::to_string(reader) + "/stat";
                for (std::string text; text.find(") S ") == std::string::npos;) {
                  text = read_file(stat).value_or(") S ");
                }
                ::kill(reader, SIGTERM);
                while (::write(ends[1], "x", 1) != 1) {
                }
                ::_exit(0);
              }
              char byte = 0;
              const bool was_read = ::read(ends[0], &byte, 1) == 1;
              return was_read && stop.requested() == SIGTERM ? 0 : 2;
            }),
            0);
}

TEST(StopSignals, programs_started_meanwhile_have_the_default_signals) {
  const StopSignals stop;
  for (const char* name : {"TERM", "INT", "HUP", "USR1"}) {
    const auto result = run_process({.args = {"sh", "-c", std::string("kill -") + name + " $$"}});
    ASSERT_TRUE(result);
    EXPECT_GT(result->exit_code, 128) << name;
  }
  EXPECT_FALSE(stop.requested());
}

}  // namespace
}  // namespace kedge
