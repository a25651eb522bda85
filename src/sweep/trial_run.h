// One trial, run to its end by the agent that holds it: the program is started, watched, judged by
// the sweep's rule, stopped where need be.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/stopwatch.h"
#include "core/supervise.h"
#include "search/early_stop.h"
#include "sweep/agent.h"
#include "sweep/metric_source.h"
#include "sweep/sweep.h"
#include "sweep/trial_process.h"
#include "track/attempt.h"

namespace kedge::sweep {

struct TrialEnd {
  enum class Kind : std::uint8_t {
    Ended,   // with a result
    Paused,  // by the rule; may be promoted
    Open,    // saved and stopped: somebody goes on with it
    Lost,    // another agent has it
  };

  Kind kind = Kind::Ended;
  TrialResult result = {};
  std::set<std::string> names = {};  // metrics that it reported
  bool is_interrupted = false;       // the agent was asked to stop
};

class TrialRun {
 public:
  TrialRun(Sweep& sweep, const TrialView& view, Lease& lease, const AgentOptions& options,
           const HeldSignals& signals)
      : sweep_(sweep), view_(view), lease_(lease), options_(options), signals_(signals) {}

  Result<TrialEnd> run();

 private:
  // Why it was told to stop.
  struct Stop {
    search::Verdict verdict = search::Verdict::Stop;
    std::string reason;
  };

  bool wait_for_holder() const;
  Result<void> look(TrialProcess& process);
  Result<void> judge();
  Reports read_reports_now() const;
  TrialEnd conclude(int exit_code, bool was_interrupted);
  TrialEnd fail_with(int exit_code);
  std::string output_tail() const;
  std::string last_line() const;

  Sweep& sweep_;
  const TrialView& view_;
  Lease& lease_;
  const AgentOptions& options_;
  const HeldSignals& signals_;
  Stopwatch watch_;
  std::optional<Stop> stop_;
  Stopwatch since_stop_;
  bool is_lost_ = false;
  std::size_t judged_brackets_ = 0;
  std::size_t reports_seen_ = 0;
  std::size_t output_begin_ = 0;  // of this attempt in output.log
};

}  // namespace kedge::sweep
