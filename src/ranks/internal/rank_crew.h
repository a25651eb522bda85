// The ranks of one machine during one round: from their start until all have ended.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/file.h"
#include "core/result.h"
#include "ranks/internal/rank_process.h"
#include "ranks/rank_board.h"
#include "ranks/rank_report.h"
#include "ranks/rank_supervisor.h"

namespace kedge::ranks {

// A socket that listens, held until rank 0 has it, so that nobody else can take the port.
struct RankListener {
  OwnedFd fd;
  int port = 0;
};

// On loopback only, or on all interfaces.
Result<RankListener> listen_for_ranks(bool is_one_machine);

// Where the ranks of this machine stand among all.
struct RoundPlan {
  std::int64_t first_rank = 0;
  std::int64_t size = 1;  // ranks on all machines
  std::string host = "127.0.0.1";
  int port = 0;
  int listen_fd = -1;  // for rank 0
  std::string run_id = {};
  std::string incident = {};  // what ended the round before
};

struct RoundEnd {
  int exit_code = 0;
  std::int64_t rank = 0;   // that failed first
  std::int64_t step = -1;  // how far the training had come

  // Whether starting again could change anything.
  bool is_lasting() const {
    return exit_code == kExitDone || exit_code == kExitUsage || exit_code == kExitRunMeAgain;
  }
};

std::string describe(const RoundEnd& end);

class RankCrew {
 public:
  RankCrew(const RankJob& job, RankBoard& board) : job_(job), board_(board) {}

  Result<void> start(const RoundPlan& plan);

  // Passes on output for a moment, and looks who has ended. One that ends badly takes the others
  // with it. True when all have ended.
  bool watch(std::chrono::milliseconds wait);

  bool has_failed() const { return failure_.has_value(); }

  RoundEnd end();

  void send(int signal);

  // They are killed, and that is nobody's failure.
  void kill_all();

  std::vector<RankView> views(bool with_stacks);

  // Rank 0, where it is one of these, writes it into the run's log.
  void tell_first(std::string_view note);

  // The time since any rank moved; nothing where they do not train yet.
  std::optional<std::chrono::milliseconds> silence() const;

  std::string run_id() const { return board_.slot(0).run_id; }

  // At the end of all rounds: what the ranks kept in memory for the next one is needed no more.
  void clear_memory() const;

 private:
  void note_failure(const RoundEnd& end);
  void note_memory();

  const RankJob& job_;
  RankBoard& board_;
  std::int64_t first_rank_ = 0;
  std::set<std::string> memory_;  // folders, of all rounds
  std::vector<RankProcess> processes_;
  std::optional<RoundEnd> failure_;
  std::optional<std::chrono::steady_clock::time_point> deadline_;  // then the others are killed
  bool is_killing_ = false;
};

// When to give up: after so many rounds in a row that got no further, or when an error that the
// program reported itself comes again at the same step.
class RestartRule {
 public:
  explicit RestartRule(std::int64_t restarts) : restarts_(restarts) {}

  bool may_restart(const RoundEnd& end);

  std::int64_t failures() const { return failures_; }

 private:
  std::int64_t restarts_;
  std::int64_t failures_ = 0;
  std::int64_t furthest_ = -1;
};

}  // namespace kedge::ranks
