#include "sweep/agent.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/file.h"
#include "core/nearest.h"
#include "core/result.h"
#include "core/stopwatch.h"
#include "core/units.h"
#include "jobs/time_limit.h"
#include "search/trial.h"
#include "sweep/metric_source.h"
#include "sweep/reuse.h"
#include "sweep/trial_command.h"
#include "sweep/trial_process.h"
#include "sweep/trial_run.h"
#include "track/attempt.h"

namespace kedge::sweep {
namespace {

constexpr std::chrono::milliseconds kLookAgain{20};
// A server that is away or a full disk is tried again after a pause that grows up to this.
constexpr std::chrono::milliseconds kTryAgainMax = std::chrono::seconds(15);
constexpr std::chrono::milliseconds kTryAgain{250};

class Agent {
 public:
  Agent(Sweep& sweep, const AgentOptions& options, const HeldSignals& signals)
      : sweep_(sweep), options_(options), signals_(signals), limit_(jobs::find_time_limit()) {}

  Result<AgentReport> run() {
    KEDGE_TRY(check_code());
    while (report_.end.empty()) {
      // A server may come back; a disk that is full when a trial is to begin is for people.
      const auto done = patiently([&] { return turn(); }, false);
      if (!done && done.error().kind == ErrorKind::Interrupted) {
        KEDGE_TRY(stop());
      } else if (!done) {
        return std::unexpected(done.error());
      }
    }
    return std::move(report_);
  }

 private:
  Result<void> check_code() const {
    if (options_.any_code || code_of(sweep_) == sweep_.facts().code) {
      return {};
    }
    const SweepFacts& facts = sweep_.facts();
    const auto files = files_of_program(facts.folder, facts.program, sweep_.plan().command);
    return fail(
        ErrorKind::Usage,
        fmt::format("{} has changed since sweep {} was made: its trials would not compare",
                    files.empty() ? facts.program : fmt::format("{}", fmt::join(files, " or ")),
                    facts.id),
        "start a sweep of its own; or go on all the same with --any-code");
  }

  // One trial, one wait, or the end.
  Result<void> turn() {
    if (options_.count && report_.trials >= *options_.count) {
      return end("the trials asked for are done");
    }
    const Control control = KEDGE_TRY(sweep_.read_control());
    if (control.state == SweepState::Stopped || control.state == SweepState::Cancelled) {
      return end(fmt::format("the sweep is {}", name_of(control.state)));
    }
    if (control.state == SweepState::Paused) {
      if (!options_.waits) {
        return end(fmt::format("the sweep is paused: {}", control.reason));
      }
      return wait();
    }
    const auto views = KEDGE_TRY(sweep_.read_trials());
    if (const auto reason = find_time_reason(views)) {
      return end(*reason);
    }
    Claim claim = KEDGE_TRY(sweep_.claim());
    if (claim.job) {
      return work_on(std::move(*claim.job));
    }
    if (claim.end.empty()) {
      // Somebody else was faster, or the file server is behind: look again.
      return wait_for_stop(signals_, kLookAgain) ? stop() : Result<void>();
    }
    if (options_.waits && claim.open_count > 0) {
      return wait();
    }
    return end(claim.open_count > 0 ? fmt::format("{}; {} are being worked on by other agents",
                                                  claim.end, claim.open_count)
                                    : claim.end);
  }

  Result<void> end(std::string reason) {
    report_.end = std::move(reason);
    return {};
  }

  Result<void> stop() {
    report_.was_interrupted = true;
    return end("it was asked to stop");
  }

  // Again and again while the server is away or, where what is to be written has cost a trial, the
  // disk is full. Interrupted: this process was asked to stop meanwhile.
  template <typename Act>
  std::invoke_result_t<Act> patiently(Act act, bool heeds_disk) {
    const Stopwatch waited;
    std::chrono::milliseconds pause = kTryAgain;
    for (;;) {
      auto done = act();
      const bool may_pass =
          !done &&
          (done.error().kind == ErrorKind::Unavailable ||
           (heeds_disk && done.error().kind == ErrorKind::Io)) &&
          waited.seconds() < std::chrono::duration<double>(options_.away_max).count();
      if (!may_pass) {
        return done;
      }
      if (pause == kTryAgain) {
        say("{}; trying again until it works", done.error().message);
      }
      if (wait_for_stop(signals_, pause)) {
        return fail(ErrorKind::Interrupted, "asked to stop while waiting");
      }
      pause = std::min(2 * pause, kTryAgainMax);
    }
  }

  Result<void> wait() {
    return wait_for_stop(signals_, options_.look_every) ? stop() : Result<void>();
  }

  // Why no trial can be started any more in the time that the job has left.
  std::optional<std::string> find_time_reason(const std::vector<TrialView>& views) const {
    const auto usual_s = median_seconds(views);
    if (!limit_ || !usual_s) {
      return std::nullopt;
    }
    const double left_s =
        std::chrono::duration<double>(limit_->end - std::chrono::system_clock::now()).count();
    if (left_s > 1.2 * *usual_s) {
      return std::nullopt;
    }
    return fmt::format("a trial takes {} and {} leaves {}", render_seconds({*usual_s}),
                       limit_->source, render_seconds({std::max(left_s, 0.0)}));
  }

  Result<void> work_on(Job job) {
    const std::int64_t number = job.view.trial.number;
    if (sweep_.facts().reuses) {
      if (const auto known = sweep_.find_known(job.view.trial.values)) {
        say("trial {}: taken from {}", number, known->reused);
        const bool is_ours = KEDGE_TRY(sweep_.add_result(number, *known));
        return job.lease->end(is_ours ? track::RunState::Finished : track::RunState::Interrupted);
      }
    }
    if (job.is_promoted) {
      say("trial {} is promoted: it is among the best so far", number);
    }
    const bool is_resumed = job.lease->number() > 1;
    say("trial {} {}: {}", number, is_resumed ? "goes on" : "begins",
        fmt::join(make_words(job.view.trial.values), " "));
    TrialRun trial_run(sweep_, job.view, *job.lease, options_, signals_);
    const TrialEnd ended = KEDGE_TRY(trial_run.run());
    return settle(job, ended);
  }

  // Writes the result down, unless the trial stays open.
  Result<void> settle(Job& job, const TrialEnd& ended) {
    const std::int64_t number = job.view.trial.number;
    if (ended.kind == TrialEnd::Kind::Open || ended.kind == TrialEnd::Kind::Lost) {
      say("trial {} {}", number, ended.result.message);
      KEDGE_TRY(job.lease->end(track::RunState::Interrupted));
      return ended.is_interrupted ? stop() : Result<void>();
    }
    if (ended.kind == TrialEnd::Kind::Paused) {
      KEDGE_TRY(patiently([&] { return sweep_.pause(number); }, true));
      say("trial {} pauses: {}", number, ended.result.message);
      return job.lease->end(track::RunState::Interrupted);
    }
    const bool is_ours =
        KEDGE_TRY(patiently([&] { return sweep_.add_result(number, ended.result); }, true));
    const bool is_failed = ended.result.state == search::TrialState::Failed;
    if (!is_ours) {
      return job.lease->end(track::RunState::Interrupted);
    }
    KEDGE_TRY(job.lease->end(is_failed ? track::RunState::Failed : track::RunState::Finished));
    ++report_.trials;
    report_.failed += is_failed ? 1 : 0;
    say("trial {} {}", number, describe(ended.result));
    if (is_failed) {
      return handle_failure(job.view, ended.result);
    }
    return check_metric(job.view, ended);
  }

  std::string describe(const TrialResult& result) const {
    const std::string time = render_seconds({result.seconds});
    switch (result.state) {
      case search::TrialState::Failed:
        return fmt::format("failed after {} with exit code {}: {}", time, result.exit_code,
                           result.message);
      case search::TrialState::Stopped:
        return fmt::format("was stopped after {}: {}", time, result.message);
      default:
        break;
    }
    return result.metric ? fmt::format("finished in {}: {} {:.6g}", time, sweep_.plan().metric.name,
                                       *result.metric)
                         : fmt::format("finished in {}", time);
  }

  Result<void> handle_failure(const TrialView& view, const TrialResult& result) {
    if (view.failures < sweep_.plan().retries) {
      KEDGE_TRY(sweep_.retry(view.trial.number));
      return {};
    }
    const auto views = KEDGE_TRY(sweep_.read_trials());
    std::int64_t equal = 0;
    for (const TrialView& other : views) {
      if (other.trial.state == search::TrialState::Finished) {
        return {};
      }
      equal += other.result && other.result->state == search::TrialState::Failed &&
                       other.result->exit_code == result.exit_code &&
                       other.result->message == result.message
                   ? 1
                   : 0;
    }
    if (equal < kEqualFailuresMax) {
      return {};
    }
    return pause(fmt::format("{} trials failed alike and none has finished: exit code {}: {}",
                             equal, result.exit_code, result.message));
  }

  // A metric that nobody logs is found out with the first trial, not with the last.
  Result<void> check_metric(const TrialView& view, const TrialEnd& ended) {
    const std::string& name = sweep_.plan().metric.name;
    if (name.empty() || ended.result.metric || ended.result.state != search::TrialState::Finished) {
      return {};
    }
    const std::vector<std::string> names(ended.names.begin(), ended.names.end());
    const std::string nearest = nearest_name(name, names);
    return pause(fmt::format("trial {} finished without a value of the metric '{}'{}",
                             view.trial.number, name,
                             !nearest.empty() ? fmt::format("; did you mean '{}'?", nearest)
                             : !names.empty() ? fmt::format("; it has {}", fmt::join(names, ", "))
                                              : "; it reported nothing"));
  }

  Result<void> pause(const std::string& reason) {
    KEDGE_TRY(sweep_.write_control({SweepState::Paused, reason}));
    return fail(ErrorKind::Usage, fmt::format("the sweep is paused: {}", reason),
                fmt::format("put it right and start a sweep of its own; or `kedge sweep resume {}` "
                            "to go on all the same",
                            sweep_.facts().id));
  }

  template <typename... Args>
  void say(fmt::format_string<Args...> format, Args&&... args) const {
    if (options_.say) {
      options_.say(fmt::format(format, std::forward<Args>(args)...));
    }
  }

  Sweep& sweep_;
  const AgentOptions& options_;
  const HeldSignals& signals_;
  std::optional<TimeLimit> limit_;
  AgentReport report_;
};

}  // namespace

std::optional<double> median_seconds(const std::vector<TrialView>& trials) {
  std::vector<double> seconds;
  for (const TrialView& view : trials) {
    if (view.result && view.result->state == search::TrialState::Finished &&
        view.result->reused.empty()) {
      seconds.push_back(view.result->seconds);
    }
  }
  if (seconds.empty()) {
    return std::nullopt;
  }
  std::ranges::sort(seconds);
  return seconds[seconds.size() / 2];
}

Result<AgentReport> run_agent(Sweep& sweep, const AgentOptions& options,
                              const HeldSignals& signals) {
  return Agent(sweep, options, signals).run();
}

}  // namespace kedge::sweep
