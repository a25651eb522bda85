#include "ranks/rank_supervisor.h"

#include <csignal>
#include <utility>

#include <fmt/format.h>

#include "core/log.h"
#include "core/signals.h"
#include "ranks/internal/rank_crew.h"
#include "ranks/rank_board.h"
#include "ranks/rank_report.h"

namespace kedge::ranks {
namespace {

constexpr std::chrono::milliseconds kRankWatch = std::chrono::milliseconds(200);

class CrewSupervisor {
 public:
  CrewSupervisor(const RankJob& job, RankBoard board)
      : job_(job), board_(std::move(board)), crew_(job, board_), rule_(job.restarts) {}

  Result<int> run() {
    for (;;) {
      const RoundEnd end = KEDGE_TRY(run_round());
      if (end.is_lasting() || signals_.requested()) {
        return end.exit_code;
      }
      const std::string what = describe(end);
      if (!rule_.may_restart(end)) {
        say("{}; not started again: it does not get further", what);
        return end.exit_code;
      }
      say("{}; all ranks are started again (try {} of {} without progress)", what, rule_.failures(),
          job_.restarts);
      incident_ = hang_.empty() ? what : fmt::format("{}\n{}", what, hang_);
    }
  }

  void clear_memory() const { crew_.clear_memory(); }

 private:
  Result<RoundEnd> run_round() {
    hang_.clear();
    is_told_ = false;
    {
      const RankListener listener = KEDGE_TRY(listen_for_ranks(true));
      KEDGE_TRY(crew_.start({.size = job_.ranks,
                             .port = listener.port,
                             .listen_fd = listener.fd.get(),
                             .run_id = run_id_,
                             .incident = incident_}));
    }
    while (!crew_.watch(kRankWatch)) {
      pass_stop_on();
      look_for_hang();
    }
    if (const std::string id = crew_.run_id(); !id.empty()) {
      run_id_ = id;
    }
    return crew_.end();
  }

  void pass_stop_on() {
    if (signals_.requested() && !std::exchange(is_told_, true)) {
      crew_.send(*signals_.requested() == SIGINT ? SIGTERM : *signals_.requested());
    }
  }

  // Nobody has moved for a while: who is it? Told once a hang.
  void look_for_hang() {
    const auto silence = crew_.silence();
    const bool is_hanging = silence && *silence >= job_.stall && !crew_.has_failed();
    if (is_hanging && !std::exchange(is_reported_, true)) {
      hang_ = render_hang(crew_.views(true));
      print_line(hang_);
      crew_.tell_first(hang_);
    }
    is_reported_ = is_reported_ && is_hanging;
  }

  const RankJob& job_;
  const StopSignals signals_;
  RankBoard board_;
  RankCrew crew_;
  RestartRule rule_;
  bool is_told_ = false;
  bool is_reported_ = false;
  std::string run_id_;
  std::string hang_;      // the report of this round's
  std::string incident_;  // what ended the round before
};

}  // namespace

Result<int> supervise_ranks(const RankJob& job) {
  auto board = KEDGE_TRY(RankBoard::create(static_cast<std::size_t>(job.ranks)));
  CrewSupervisor supervisor(job, std::move(board));
  const Result<int> code = supervisor.run();
  supervisor.clear_memory();
  return code;
}

}  // namespace kedge::ranks
