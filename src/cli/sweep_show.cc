// `kedge sweep ls`, `show` and `export`.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/shared/arguments.h"
#include "cli/shared/text_table.h"
#include "cli/sweep.h"
#include "core/file.h"
#include "core/log.h"
#include "core/result.h"
#include "core/units.h"
#include "search/space.h"
#include "search/sweep_plan.h"
#include "sweep/agent.h"
#include "sweep/sweep_folder.h"
#include "sweep/trial_files.h"
#include "sweep/trial_table.h"

namespace kedge::cli {
namespace {

using search::TrialState;

std::map<TrialState, std::int64_t> count_states(const std::vector<sweep::TrialView>& trials) {
  std::map<TrialState, std::int64_t> counts;
  for (const sweep::TrialView& view : trials) {
    ++counts[view.trial.state];
  }
  return counts;
}

std::string render_counts(const std::map<TrialState, std::int64_t>& counts) {
  std::vector<std::string> parts;
  parts.reserve(counts.size());
  for (const auto& [state, count] : counts) {
    parts.push_back(fmt::format("{} {}", count, sweep::name_of(state)));
  }
  return parts.empty() ? "no trials yet" : fmt::format("{}", fmt::join(parts, ", "));
}

// Running until all that is expected has ended.
std::string state_of_sweep(const sweep::Sweep& sweep, const sweep::Control& control,
                           const std::vector<sweep::TrialView>& trials) {
  const auto expected = search::expected_runs(sweep.plan());
  // What is still paused then has not earned more.
  const bool has_ended = std::ranges::all_of(trials, [](const sweep::TrialView& view) {
    return view.result.has_value() || view.trial.state == TrialState::Paused;
  });
  if (expected && static_cast<std::int64_t>(trials.size()) >= *expected && has_ended) {
    return "finished";
  }
  return std::string(sweep::name_of(control.state));
}

std::string render_metric(const std::optional<double>& value) {
  return value ? fmt::format("{:.6g}", *value) : "";
}

Result<void> show_sweep(const Arguments& arguments, sweep::Sweep& sweep) {
  const auto trials = KEDGE_TRY(sweep.read_trials());
  const auto control = KEDGE_TRY(sweep.read_control());
  const std::string state = state_of_sweep(sweep, control, trials);
  const auto expected = search::expected_runs(sweep.plan());
  if (arguments.has("--json")) {
    nlohmann::json json = {{"id", sweep.facts().id},
                           {"name", sweep.facts().name},
                           {"method", sweep.plan().method},
                           {"metric", sweep.plan().metric.name},
                           {"state", state},
                           {"reason", control.reason},
                           {"trials", nlohmann::json::array()}};
    json["expected_runs"] = expected ? nlohmann::json(*expected) : nlohmann::json();
    for (const sweep::TrialView& view : trials) {
      json["trials"].push_back(trial_json(view));
    }
    fmt::print("{}\n", json.dump());
    return {};
  }
  fmt::print("sweep {}: {}, {}; {} of {} runs: {}\n", sweep.facts().id, sweep.plan().method, state,
             trials.size(), expected ? std::to_string(*expected) : "any number of",
             render_counts(count_states(trials)));
  if (!control.reason.empty()) {
    fmt::print("{}\n", control.reason);
  }
  if (const auto usual_s = sweep::median_seconds(trials);
      usual_s && expected && state != "finished") {
    const auto left = static_cast<double>(*expected - count_states(trials)[TrialState::Finished]);
    fmt::print("a trial takes {}; {} of work left\n", render_seconds({*usual_s}),
               render_seconds({std::max(left, 0.0) * *usual_s}));
  }
  const std::string& metric = sweep.plan().metric.name;
  std::vector<std::vector<std::string>> rows = {
      {"trial", "state", metric.empty() ? "metric" : metric, "time", "values"}};
  for (const std::size_t index : sweep::rank_trials(sweep.plan().metric, trials)) {
    const sweep::TrialView& view = trials[index];
    std::string values = search::flatten(view.trial.values).dump();
    rows.push_back({std::to_string(view.trial.number),
                    std::string(sweep::name_of(view.trial.state)), render_metric(view.trial.metric),
                    view.result ? render_seconds({view.result->seconds}) : "", std::move(values)});
  }
  fmt::print("{}", render_table(rows));
  return {};
}

nlohmann::json describe_sweep(const sweep::Sweep& sweep, const sweep::Control& control,
                              const std::vector<sweep::TrialView>& trials) {
  const auto order = sweep::rank_trials(sweep.plan().metric, trials);
  nlohmann::json json = {{"id", sweep.facts().id},
                         {"name", sweep.facts().name},
                         {"project", sweep.facts().project},
                         {"method", sweep.plan().method},
                         {"state", state_of_sweep(sweep, control, trials)},
                         {"trials", trials.size()},
                         {"created", sweep.facts().created}};
  json["best"] = nullptr;
  if (!order.empty() && trials[order.front()].trial.metric) {
    json["best"] = *trials[order.front()].trial.metric;
  }
  return json;
}

// Of the server where one is named, else of the folder.
Result<nlohmann::json> list_sweeps(const Arguments& arguments) {
  if (const auto server = server_of(arguments)) {
    return sweep::RemoteSweep::list(KEDGE_TRY(place_of(*server, arguments)));
  }
  const Path dir = arguments.value("--dir", "sweeps");
  nlohmann::json list = nlohmann::json::array();
  for (const Path& path : sweep::SweepFolder::list(dir)) {
    const auto folder = sweep::SweepFolder::open(path.string(), dir);
    const auto trials = folder ? (*folder)->read_trials() : std::unexpected(folder.error());
    const auto control = folder ? (*folder)->read_control() : std::unexpected(folder.error());
    if (!trials || !control) {
      warn("{}", trials ? control.error().message : trials.error().message);
      continue;
    }
    list.push_back(describe_sweep(**folder, *control, *trials));
  }
  return list;
}

}  // namespace

nlohmann::json trial_json(const sweep::TrialView& view) {
  nlohmann::json json = {{"trial", view.trial.number},
                         {"state", sweep::name_of(view.trial.state)},
                         {"values", view.trial.values},
                         {"run", view.run},
                         {"attempts", view.trial.attempts}};
  json["metric"] = view.trial.metric ? nlohmann::json(*view.trial.metric) : nlohmann::json();
  if (view.result) {
    json["seconds"] = view.result->seconds;
    json["exit_code"] = view.result->exit_code;
    json["message"] = view.result->message;
  }
  return json;
}

int run_sweep_ls(Args args) {
  const VerbHelp help = {.usage = "kedge sweep ls [options]",
                         .text = "The sweeps in a folder, or on a server.",
                         .flags = {kServerFlag, kTokenFlag, kSweepDirFlag, kJsonFlag}};
  const auto arguments = parse_or_help(args, help);
  if (!arguments) {
    return report(arguments.error());
  }
  if (!*arguments) {
    return kExitDone;
  }
  if (!(*arguments)->positionals().empty()) {
    return report({ErrorKind::Usage,
                   fmt::format("unexpected word '{}'", (*arguments)->positionals().front()),
                   "--dir names another folder of sweeps"});
  }
  const auto list = list_sweeps(**arguments);
  if (!list) {
    return report(list.error());
  }
  std::vector<std::vector<std::string>> rows = {
      {"id", "name", "method", "state", "trials", "best", "created"}};
  for (const nlohmann::json& one : *list) {
    const nlohmann::json best = one.value("best", nlohmann::json());
    rows.push_back({one.value("id", ""), one.value("name", ""), one.value("method", ""),
                    one.value("state", ""), std::to_string(one.value("trials", 0)),
                    best.is_number() ? render_metric(best.get<double>()) : "",
                    one.value("created", "")});
  }
  fmt::print("{}", (*arguments)->has("--json") ? list->dump() + "\n" : render_table(rows));
  return kExitDone;
}

int run_sweep_show(Args args) {
  return with_sweep(args,
                    {.usage = "kedge sweep show ID [options]",
                     .text = "A sweep and its trials, the best first.",
                     .flags = {kServerFlag, kTokenFlag, kSweepDirFlag, kJsonFlag}},
                    show_sweep);
}

int run_sweep_export(Args args) {
  return with_sweep(
      args,
      {.usage = "kedge sweep export ID [options]",
       .text = "All trials as CSV, the best first, with the folders of their runs and checkpoints.",
       .flags = {{"--output", "FILE", "write it there (results.csv)"},
                 kServerFlag,
                 kTokenFlag,
                 kSweepDirFlag}},
      [](const Arguments& arguments, sweep::Sweep& sweep) -> Result<void> {
        const auto trials = KEDGE_TRY(sweep.read_trials());
        const Path file = arguments.value("--output", "results.csv");
        KEDGE_TRY(sweep::write_trial_table(file, sweep, trials));
        say("kedge: {} trials in {}", trials.size(), file.string());
        return {};
      });
}

}  // namespace kedge::cli
