// One rank as a process: started with its place in the environment, its output passed on line by
// line with its name in front (rank 0's goes straight to the terminal).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "core/file.h"
#include "core/line_splitter.h"
#include "core/result.h"

namespace kedge::ranks {

struct RankStart {
  std::int64_t rank = 0;
  std::vector<std::string> command;
  std::vector<std::pair<std::string, std::string>> variables;
  std::vector<int> inherited;  // descriptors that it keeps
};

class RankProcess {
 public:
  static Result<RankProcess> start(const RankStart& start);

  RankProcess(RankProcess&&) noexcept = default;
  RankProcess& operator=(RankProcess&&) = delete;
  // Kills it where it still runs.
  ~RankProcess();

  std::int64_t rank() const { return rank_; }

  pid_t pid() const { return pid_.value; }

  // Negative where there is nothing to read any more.
  int output_fd() const { return output_.get(); }

  void pass_output();

  // Its exit code once it has ended, 128 + n for a signal.
  std::optional<int> exit_code();

  void send(int signal);

  // For the run's log; rank 0 alone has one.
  void tell(std::string_view note);

  // Asks for its stack and waits a moment for it; innermost first.
  std::vector<std::string> ask_stack();

 private:
  RankProcess() = default;

  struct Pid {
    Pid() : value(-1) {}

    Pid(Pid&& other) noexcept : value(std::exchange(other.value, -1)) {}

    pid_t value;
  };

  std::int64_t rank_ = 0;
  Pid pid_;
  OwnedFd output_;
  OwnedFd stacks_;
  OwnedFd notes_;
  std::optional<int> exit_code_;
  std::optional<LineSplitter> splitter_;
};

}  // namespace kedge::ranks
