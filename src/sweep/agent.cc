#include "sweep/agent.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/file.h"
#include "core/nearest.h"
#include "core/result.h"
#include "core/stopwatch.h"
#include "core/units.h"
#include "launch/time_limit.h"
#include "search/early_stop.h"
#include "search/propose.h"
#include "sweep/metric_source.h"
#include "sweep/reuse.h"
#include "sweep/trial_command.h"
#include "sweep/trial_process.h"
#include "sweep/trial_run.h"
#include "track/attempt.h"

namespace kedge::sweep {
namespace {

// A trial that has been begun so often takes its agents down with it.
constexpr int kAttemptsMax = 50;
constexpr std::chrono::milliseconds kLookAgain{20};

std::vector<search::Trial> trials_of(const std::vector<TrialView>& views) {
  std::vector<search::Trial> trials;
  trials.reserve(views.size());
  for (const TrialView& view : views) {
    trials.push_back(view.trial);
  }
  return trials;
}

class Agent {
 public:
  Agent(SweepFolder& folder, const AgentOptions& options, const launch::HeldSignals& signals)
      : folder_(folder), options_(options), signals_(signals), limit_(launch::find_time_limit()) {}

  Result<AgentReport> run() {
    KEDGE_TRY(check_code());
    while (report_.end.empty()) {
      KEDGE_TRY(turn());
    }
    return std::move(report_);
  }

 private:
  struct Job {
    TrialView view;
    track::Attempt attempt;
  };

  Result<void> check_code() const {
    if (options_.any_code || code_of(folder_) == folder_.facts().code) {
      return {};
    }
    return fail(ErrorKind::Usage,
                fmt::format("{} has changed since sweep {} was made: its trials would not compare",
                            folder_.facts().program, folder_.facts().id),
                "start a sweep of its own; or go on all the same with --any-code");
  }

  // One trial, one wait, or the end.
  Result<void> turn() {
    if (options_.count && report_.trials >= *options_.count) {
      return end("the trials asked for are done");
    }
    const Control control = KEDGE_TRY(folder_.read_control());
    if (control.state == SweepState::Stopped || control.state == SweepState::Cancelled) {
      return end(fmt::format("the sweep is {}", name_of(control.state)));
    }
    if (control.state == SweepState::Paused) {
      if (!options_.waits) {
        return end(fmt::format("the sweep is paused: {}", control.reason));
      }
      return wait();
    }
    const auto views = KEDGE_TRY(folder_.read_trials());
    if (const auto reason = find_time_reason(views)) {
      return end(*reason);
    }
    auto job = KEDGE_TRY(find_job(views));
    if (job) {
      return work_on(std::move(*job));
    }
    if (end_.empty()) {
      // Somebody else was faster, or the file server is behind: look again.
      return wait_for_stop(signals_, kLookAgain) ? stop() : Result<void>();
    }
    if (options_.waits && open_count_ > 0) {
      return wait();
    }
    return end(open_count_ > 0
                   ? fmt::format("{}; {} are being worked on by other agents", end_, open_count_)
                   : end_);
  }

  Result<void> end(std::string reason) {
    report_.end = std::move(reason);
    return {};
  }

  Result<void> stop() {
    report_.was_interrupted = true;
    return end("it was asked to stop");
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

  Result<std::optional<Job>> find_job(const std::vector<TrialView>& views) {
    end_.clear();
    open_count_ = 0;
    for (const TrialView& view : views) {
      if (view.trial.state != search::TrialState::Waiting &&
          view.trial.state != search::TrialState::Running) {
        continue;
      }
      ++open_count_;
      if (auto job = KEDGE_TRY(take(view))) {
        return job;
      }
    }
    const auto trials = trials_of(views);
    for (const std::size_t index : search::find_promotions(folder_.plan(), trials)) {
      if (auto job = KEDGE_TRY(take(views[index]))) {
        KEDGE_TRY(folder_.set_paused(job->view.trial.number, false));
        say("trial {} goes on: it is among the best so far", job->view.trial.number);
        return job;
      }
    }
    return hand_out(views, trials);
  }

  Result<std::optional<Job>> hand_out(const std::vector<TrialView>& views,
                                      const std::vector<search::Trial>& trials) {
    const auto proposals = KEDGE_TRY(search::propose(folder_.plan(), trials, 1));
    if (proposals.values.empty()) {
      end_ = proposals.end;
      return std::nullopt;
    }
    TrialView view;
    view.trial.number = static_cast<std::int64_t>(views.size()) + 1;
    view.trial.values = proposals.values.front();
    if (!KEDGE_TRY(folder_.add_trial(view.trial.number, view.trial.values))) {
      return std::nullopt;
    }
    view.run = fmt::format("{}-{:04}", folder_.facts().id, view.trial.number);
    return take(view);
  }

  // The trial, if nobody alive works on it and nobody has ended it meanwhile.
  Result<std::optional<Job>> take(const TrialView& view) {
    const Path path = folder_.trial_path(view.trial.number);
    auto attempt = track::Attempt::take(path, {.may_wait = false});
    if (!attempt) {
      if (attempt.error().kind == ErrorKind::Unavailable) {
        return std::nullopt;
      }
      return std::unexpected(attempt.error());
    }
    if (std::filesystem::exists(path / "result.json")) {
      KEDGE_TRY(attempt->end(track::RunState::Finished));
      return std::nullopt;
    }
    if (attempt->number() > kAttemptsMax) {
      TrialResult result{.state = search::TrialState::Failed};
      result.message = fmt::format("it was begun {} times and never ended", kAttemptsMax);
      KEDGE_TRY(folder_.add_result(view.trial.number, result));
      KEDGE_TRY(attempt->end(track::RunState::Failed));
      return std::nullopt;
    }
    return Job{view, std::move(*attempt)};
  }

  Result<void> work_on(Job job) {
    const std::int64_t number = job.view.trial.number;
    if (folder_.facts().reuses) {
      if (const auto known = find_identical(folder_, job.view.trial.values)) {
        say("trial {}: taken from {}", number, known->reused);
        KEDGE_TRY(folder_.add_result(number, *known));
        return job.attempt.end(track::RunState::Finished);
      }
    }
    const bool is_resumed = job.attempt.number() > 1;
    say("trial {} {}: {}", number, is_resumed ? "goes on" : "begins",
        fmt::join(make_words(job.view.trial.values), " "));
    TrialRun trial_run(folder_, job.view, job.attempt, options_, signals_);
    const TrialEnd ended = KEDGE_TRY(trial_run.run());
    return settle(job, ended);
  }

  // Writes the result down, unless the trial stays open.
  Result<void> settle(Job& job, const TrialEnd& ended) {
    const std::int64_t number = job.view.trial.number;
    if (ended.kind == TrialEnd::Kind::Open || ended.kind == TrialEnd::Kind::Lost) {
      say("trial {} {}", number, ended.result.message);
      KEDGE_TRY(job.attempt.end(track::RunState::Interrupted));
      return ended.is_interrupted ? stop() : Result<void>();
    }
    if (ended.kind == TrialEnd::Kind::Paused) {
      KEDGE_TRY(folder_.set_paused(number, true));
      say("trial {} pauses: {}", number, ended.result.message);
      return job.attempt.end(track::RunState::Interrupted);
    }
    const bool is_ours = KEDGE_TRY(folder_.add_result(number, ended.result));
    const bool is_failed = ended.result.state == search::TrialState::Failed;
    KEDGE_TRY(job.attempt.end(is_failed ? track::RunState::Failed : track::RunState::Finished));
    if (!is_ours) {
      return {};
    }
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
    return result.metric ? fmt::format("finished in {}: {} {:.6g}", time,
                                       folder_.plan().metric.name, *result.metric)
                         : fmt::format("finished in {}", time);
  }

  Result<void> handle_failure(const TrialView& view, const TrialResult& result) {
    if (view.failures < folder_.plan().retries) {
      KEDGE_TRY(folder_.retry(view.trial.number));
      return {};
    }
    const auto views = KEDGE_TRY(folder_.read_trials());
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
    const std::string& name = folder_.plan().metric.name;
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
    KEDGE_TRY(folder_.write_control({SweepState::Paused, reason}));
    return fail(ErrorKind::Usage, fmt::format("the sweep is paused: {}", reason),
                fmt::format("put it right and start a sweep of its own; or `kedge sweep resume {}` "
                            "to go on all the same",
                            folder_.facts().id));
  }

  template <typename... Args>
  void say(fmt::format_string<Args...> format, Args&&... args) const {
    if (options_.say) {
      options_.say(fmt::format(format, std::forward<Args>(args)...));
    }
  }

  SweepFolder& folder_;
  const AgentOptions& options_;
  const launch::HeldSignals& signals_;
  std::optional<launch::TimeLimit> limit_;
  AgentReport report_;
  std::string end_;
  std::int64_t open_count_ = 0;
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

Result<AgentReport> run_agent(SweepFolder& folder, const AgentOptions& options,
                              const launch::HeldSignals& signals) {
  return Agent(folder, options, signals).run();
}

}  // namespace kedge::sweep
