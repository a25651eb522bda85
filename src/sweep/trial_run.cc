#include "sweep/trial_run.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/file.h"
#include "core/host_name.h"
#include "core/result.h"
#include "core/time_text.h"
#include "search/early_stop.h"
#include "search/trial.h"
#include "sweep/metric_source.h"
#include "sweep/trial_command.h"
#include "sweep/trial_process.h"
#include "sweep/trial_table.h"
#include "track/attempt.h"

namespace kedge::sweep {
namespace {

constexpr std::chrono::milliseconds kPoll{200};
constexpr std::size_t kLineMax = 300;
constexpr std::size_t kTailBytes = 8192;

}  // namespace

// A program that outlived its agent for a moment still holds the run and is saving it.
bool TrialRun::wait_for_holder() const {
  const Stopwatch waited;
  for (;;) {
    const Path run = find_run_path(sweep_, view_);
    const auto holder = run.empty() ? Result<std::optional<track::AttemptFacts>>(std::nullopt)
                                    : track::find_live_holder(run, {.may_wait = false});
    if (!holder || !*holder || waited.seconds() > 120) {
      return true;
    }
    if (wait_for_stop(signals_, kPoll)) {
      return false;
    }
  }
}

Result<TrialEnd> TrialRun::run() {
  if (lease_.number() > 1 && !wait_for_holder()) {
    TrialEnd end{.kind = TrialEnd::Kind::Open, .is_interrupted = true};
    end.result.message = "is open again";
    return end;
  }
  const TrialCommand command = KEDGE_TRY(make_trial_command(sweep_, view_, options_.kedge));
  judged_brackets_ = search::find_brackets(sweep_.plan().early_terminate,
                                           static_cast<std::int64_t>(view_.trial.curve.size()))
                         .size();
  watch_.restart();
  const Path output = sweep_.trial_path(view_.trial.number) / "output.log";
  output_begin_ = size_of_file(output).value_or(0);
  auto process = KEDGE_TRY(TrialProcess::start({.args = command.args,
                                                .variables = command.variables,
                                                .folder = sweep_.facts().folder,
                                                .output = output},
                                               signals_));
  Stopwatch since_look;
  for (;;) {
    if (const auto exit_code = process.wait(std::min(kPoll, options_.look_every))) {
      return conclude(*exit_code, process.was_interrupted());
    }
    if (since_look.seconds() >= std::chrono::duration<double>(options_.look_every).count()) {
      since_look.restart();
      KEDGE_TRY(look(process));
    }
  }
}

Result<void> TrialRun::look(TrialProcess& process) {
  if (lease_.is_lost()) {
    is_lost_ = true;
    process.kill();
    return {};
  }
  if (stop_) {
    if (since_stop_.seconds() > std::chrono::duration<double>(options_.patience).count()) {
      process.kill();
    }
    return {};
  }
  // A folder that cannot be read for a while is no reason to lose the trial.
  const auto control = sweep_.read_control();
  if (control && control->state == SweepState::Cancelled) {
    stop_ = Stop{search::Verdict::Stop, "the sweep was cancelled"};
  } else if (sweep_.plan().early_terminate.rule != search::Rule::None) {
    KEDGE_TRY(judge());
  }
  if (stop_) {
    since_stop_.restart();
    process.stop();
  }
  return {};
}

Reports TrialRun::read_reports_now() const {
  return read_reports({find_run_path(sweep_, view_), sweep_.trial_path(view_.trial.number)},
                      sweep_.plan().metric.name);
}

Result<void> TrialRun::judge() {
  const Reports reports = read_reports_now();
  if (reports.values.size() <= reports_seen_) {
    return {};
  }
  reports_seen_ = reports.values.size();
  if (auto written = sweep_.write_progress(view_.trial.number, reports.values); !written) {
    return {};  // told at the next look
  }
  const auto views = sweep_.read_trials();
  if (!views) {
    return {};
  }
  const search::EarlyTerminate& rule = sweep_.plan().early_terminate;
  const std::size_t brackets =
      search::find_brackets(rule, static_cast<std::int64_t>(reports.values.size())).size();
  // At a rung a trial is judged once, when it comes there.
  if (rule.rule == search::Rule::Asha && brackets <= judged_brackets_) {
    return {};
  }
  judged_brackets_ = brackets;
  std::vector<search::Trial> trials;
  for (const TrialView& view : *views) {
    trials.push_back(view.trial);
  }
  const auto own = std::ranges::find(trials, view_.trial.number, &search::Trial::number);
  if (own == trials.end()) {
    return {};
  }
  own->curve = reports.values;
  search::Judgement judgement =
      search::judge(sweep_.plan(), trials, static_cast<std::size_t>(own - trials.begin()));
  if (judgement.verdict != search::Verdict::GoOn) {
    stop_ = Stop{judgement.verdict, std::move(judgement.reason)};
  }
  return {};
}

// What this attempt's program said last.
std::string TrialRun::output_tail() const {
  std::string text = read_file(sweep_.trial_path(view_.trial.number) / "output.log").value_or("");
  text.erase(0, std::max(std::min(output_begin_, text.size()),
                         text.size() - std::min(text.size(), kTailBytes)));
  return text;
}

std::string TrialRun::last_line() const {
  const std::string text = output_tail();
  std::string_view tail(text);
  std::string indented;  // a hint under an error, unless there is nothing else
  while (!tail.empty()) {
    const std::size_t begin = tail.find_last_of('\n');
    std::string_view line = begin == std::string_view::npos ? tail : tail.substr(begin + 1);
    const std::size_t text_begin = line.find_first_not_of(" \t\r");
    if (text_begin == 0) {
      return std::string(line.substr(0, kLineMax));
    }
    if (indented.empty() && text_begin != std::string_view::npos) {
      indented = line.substr(0, kLineMax);
    }
    if (begin == std::string_view::npos) {
      break;
    }
    tail.remove_suffix(tail.size() - begin);
  }
  return indented.empty() ? "it printed nothing" : indented;
}

TrialEnd TrialRun::fail_with(int exit_code) {
  TrialEnd end;
  end.result.state = search::TrialState::Failed;
  end.result.message =
      exit_code == 137 ? "killed by signal 9, as when memory runs out" : last_line();
  return end;
}

TrialEnd TrialRun::conclude(int exit_code, bool was_interrupted) {
  TrialEnd end;
  if (is_lost_ || lease_.is_lost()) {
    end.kind = TrialEnd::Kind::Lost;
    end.result.message = "was taken by another agent";
    return end;
  }
  // The program of an agent that was killed while starting it: it took the run only after we had
  // looked. It is about to end.
  if (exit_code != 0 && lease_.number() > 1 && output_tail().contains("is held by")) {
    end.kind = TrialEnd::Kind::Open;
    end.is_interrupted = was_interrupted;
    end.result.message = "waits: its run is still held by the agent before";
    return end;
  }
  const Reports reports = read_reports_now();
  const bool was_stopped = stop_ && exit_code != 0;
  if (!was_stopped && exit_code != 0 && (was_interrupted || exit_code == kExitRunMeAgain)) {
    end.kind = TrialEnd::Kind::Open;
    end.is_interrupted = was_interrupted;
    end.result.message = exit_code == kExitRunMeAgain ? "is saved and open again" : "is open again";
    return end;
  }
  if (was_stopped) {
    end.kind =
        stop_->verdict == search::Verdict::Pause ? TrialEnd::Kind::Paused : TrialEnd::Kind::Ended;
    end.result.state = search::TrialState::Stopped;
    end.result.message = stop_->reason;
  } else if (exit_code != 0) {
    end = fail_with(exit_code);
  }
  end.names = reports.names;
  if (!reports.values.empty()) {
    const search::Metric& metric = sweep_.plan().metric;
    end.result.metric = reports.values.back();
    if (metric.uses_best) {
      for (const double value : reports.values) {
        end.result.metric =
            metric.is_better(value, *end.result.metric) ? value : *end.result.metric;
      }
    }
  }
  end.result.exit_code = exit_code;
  end.result.seconds = lease_.spent_before_s() + watch_.seconds();
  end.result.host = host_name();
  end.result.ended = utc_now();
  return end;
}

}  // namespace kedge::sweep
