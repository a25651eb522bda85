// `kedge` alone: what runs in this folder, how far it is, what is stuck, what failed, and what to
// type next.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/run_folders.h"
#include "cli/runs.h"
#include "cli/shared/arguments.h"
#include "cli/shared/json_output.h"
#include "cli/shared/text_table.h"
#include "cli/verbs.h"
#include "core/file.h"
#include "core/units.h"
#include "search/sweep_plan.h"
#include "sweep/sweep_folder.h"
#include "track/history.h"
#include "track/run_facts.h"

namespace kedge::cli {
namespace {

// A run that has logged no value for so long is worth a look; slower ones have long epochs.
constexpr std::int64_t kSilent_us = 10 * 60 * 1'000'000LL;
// Of each state so many runs are shown.
constexpr std::size_t kShown = 5;

const std::vector<std::string> kStates = {"running", "stuck",     "failed",
                                          "crashed", "preempted", "finished"};

std::int64_t unix_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// What training logs: samples of the machine come whether it goes on or not.
std::optional<std::int64_t> find_last_value(const Path& run) {
  const auto history = track::read_history(run, {.with_replaced = false});
  std::optional<std::int64_t> last;
  if (history) {
    for (const auto& [key, curve] : history->curves) {
      if (!key.starts_with("system/") && !curve.points.empty()) {
        last = std::max(last.value_or(0), curve.points.back().time_us);
      }
    }
  }
  return last;
}

// The epochs that metrics.csv has, a row each.
std::optional<std::int64_t> count_epochs(const Path& run) {
  const auto text = read_file(run / "metrics.csv");
  if (!text || text->size() < 2) {
    return std::nullopt;
  }
  const std::size_t last = text->rfind('\n', text->size() - 2);
  std::int64_t epoch = 0;
  const char* const begin = text->data() + (last == std::string::npos ? 0 : last + 1);
  const auto parsed = std::from_chars(begin, text->data() + text->size(), epoch);
  return parsed.ec == std::errc() ? std::optional(epoch) : std::nullopt;
}

// A run of a list, with how far it is and, where it stopped, why.
nlohmann::json look_at(const nlohmann::json& run) {
  const Path path = run["path"].get<std::string>();
  nlohmann::json seen = {{"run", fmt::format("{}/{}", run["project"].get<std::string>(),
                                             run["id"].get<std::string>())},
                         {"name", run["name"]},
                         {"state", run["state"]},
                         {"step", run["last_step"]},
                         {"best", run["best"]},
                         {"path", run["path"]}};
  const auto facts = track::read_run_facts(path);
  if (!facts) {
    return seen;
  }
  const nlohmann::json train =
      facts->value("config", nlohmann::json::object()).value("train", nlohmann::json::object());
  if (train.contains("epochs")) {
    seen["epochs"] = train["epochs"];
    seen["epoch"] = count_epochs(path).value_or(0);
  }
  const auto text = read_file(path / "run.json");
  const auto described = nlohmann::json::parse(text.value_or(""), nullptr, false);
  const nlohmann::json summary =
      described.is_object() ? described.value("summary", nlohmann::json()) : nlohmann::json();
  if (summary.is_object() && summary.contains("error")) {
    seen["error"] = summary["error"];
  } else if (summary.is_object() && summary.contains("exit_code")) {
    seen["error"] = fmt::format("exit code {}", summary["exit_code"].dump());
  }
  if (seen["state"] == "running") {
    const std::int64_t last =
        find_last_value(path).value_or(facts->value("created_us", std::int64_t{0}));
    seen["last_value_us"] = last;
    seen["state"] = unix_us() - last > kSilent_us ? "stuck" : "running";
  }
  return seen;
}

nlohmann::json look_at_sweeps() {
  nlohmann::json list = nlohmann::json::array();
  for (const Path& path : sweep::SweepFolder::list("sweeps")) {
    const auto sweep = sweep::SweepFolder::open(path.string(), "sweeps");
    if (!sweep) {
      list.push_back({{"id", path.filename().string()}, {"error", sweep.error().message}});
      continue;
    }
    const auto trials = (*sweep)->read_trials();
    const auto control = (*sweep)->read_control();
    if (!trials || !control) {
      continue;
    }
    std::map<std::string, int> counts;
    for (const sweep::TrialView& view : *trials) {
      using enum search::TrialState;
      const auto state = view.trial.state;
      ++counts[state == Finished || state == Stopped ? "done"
               : state == Failed                     ? "failed"
               : state == Running                    ? "running"
                                                     : "waiting"];
    }
    const auto expected = search::expected_runs((*sweep)->plan());
    list.push_back({{"id", (*sweep)->facts().id},
                    {"name", (*sweep)->facts().name},
                    {"state", name_of(control->state)},
                    {"trials", expected ? nlohmann::json(*expected) : nlohmann::json()},
                    {"done", counts["done"]},
                    {"failed", counts["failed"]},
                    {"running", counts["running"]}});
  }
  return list;
}

const nlohmann::json* find_first(const nlohmann::json& list, const std::string& state) {
  for (const nlohmann::json& one : list) {
    if (one["state"] == state) {
      return &one;
    }
  }
  return nullptr;
}

std::int64_t left_of(const nlohmann::json& sweep) {
  return sweep.contains("trials") && sweep["trials"].is_number()
             ? sweep["trials"].get<std::int64_t>() - sweep.value("done", 0) -
                   sweep.value("failed", 0)
             : 0;
}

struct Next {
  std::string command;
  std::string why;
};

// The first that applies: what is broken, what is not finished, what can be used, where to begin.
Next choose_next(const nlohmann::json& runs, const nlohmann::json& sweeps) {
  if (const auto* stuck = find_first(runs, "stuck")) {
    return {fmt::format("tail -n 20 {}/console.log", (*stuck)["path"].get<std::string>()),
            "it runs and logs nothing"};
  }
  if (const auto* failed = find_first(runs, "failed")) {
    return {fmt::format("tail -n 20 {}/console.log", (*failed)["path"].get<std::string>()),
            "the newest that failed"};
  }
  for (const nlohmann::json& sweep : sweeps) {
    if (left_of(sweep) > 0 && sweep.value("running", 0) == 0 && sweep["state"] == "running") {
      return {fmt::format("kedge agent {}", sweep["id"].get<std::string>()),
              fmt::format("{} of its trials are left, and nobody works on them", left_of(sweep))};
    }
  }
  for (const char* const state : {"crashed", "preempted"}) {
    if (const auto* cut = find_first(runs, state); cut != nullptr && cut->contains("epochs")) {
      return {fmt::format("kedge train {}/config.yaml run.id={}", (*cut)["path"].get<std::string>(),
                          Path((*cut)["path"].get<std::string>()).filename().string()),
              "goes on where it was saved"};
    }
  }
  if (find_first(runs, "running") != nullptr) {
    return {"kedge runs ls --filter 'state = running'", "what they are doing"};
  }
  std::error_code ignored;
  if (const auto* done = find_first(runs, "finished");
      done != nullptr && done->contains("epochs")) {
    return {fmt::format("kedge eval {}", (*done)["run"].get<std::string>()),
            "how good the newest is"};
  }
  if (std::filesystem::exists("config.yaml", ignored)) {
    return {"kedge train", "trains what config.yaml describes"};
  }
  return {"kedge init", "makes a folder with a config that runs; `kedge help` lists all verbs"};
}

std::string render_run(const nlohmann::json& run) {
  std::vector<std::string> parts;
  if (run.contains("epochs")) {
    parts.push_back(fmt::format("epoch {}/{}", run["epoch"].dump(), run["epochs"].dump()));
  }
  if (run["step"].is_number()) {
    parts.push_back(fmt::format("step {}", run["step"].dump()));
  }
  if (run["state"] == "stuck") {
    const auto silent_us =
        static_cast<double>(unix_us() - run["last_value_us"].get<std::int64_t>());
    parts.push_back(fmt::format("no new value for {}", render_seconds({silent_us * 1e-6})));
  }
  if (run["best"].is_object()) {
    parts.push_back(fmt::format("best {} {:.4g}", run["best"].value("metric", ""),
                                run["best"]["value"].get<double>()));
  }
  if (run.contains("error") && run["state"] == "failed") {
    parts.push_back(run["error"].is_string() ? run["error"].get<std::string>()
                                             : run["error"].dump());
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

void print_status(const nlohmann::json& status) {
  const nlohmann::json& counts = status["counts"];
  std::vector<std::string> parts;
  for (const std::string& state : kStates) {
    if (counts.contains(state)) {
      parts.push_back(fmt::format("{} {}", counts[state].get<int>(), state));
    }
  }
  fmt::print("runs     {}\n",
             parts.empty() ? "none in this folder" : fmt::format("{}", fmt::join(parts, ", ")));
  std::vector<std::vector<std::string>> rows;
  for (const nlohmann::json& run : status["runs"]) {
    rows.push_back(
        {"  " + run["state"].get<std::string>(), run["run"], run["name"], render_run(run)});
  }
  fmt::print("{}", render_table(rows));
  for (const nlohmann::json& sweep : status["sweeps"]) {
    if (sweep.contains("error")) {
      fmt::print("sweep    {}: {}\n", sweep["id"].get<std::string>(),
                 sweep["error"].get<std::string>());
      continue;
    }
    fmt::print("sweep    {} {}: {} of {} trials done{}{}\n", sweep["id"].get<std::string>(),
               sweep["state"].get<std::string>(), sweep["done"].get<int>(),
               sweep["trials"].is_null() ? "any number of" : sweep["trials"].dump(),
               sweep["running"] == 0 ? "" : fmt::format(", {} running", sweep["running"].dump()),
               sweep["failed"] == 0 ? "" : fmt::format(", {} failed", sweep["failed"].dump()));
  }
  if (status["jobs"] != 0) {
    fmt::print("jobs     {}; `kedge jobs` asks the schedulers how they are\n",
               status["jobs"].get<int>());
  }
  fmt::print("next     {}   ({})\n", status["next"]["command"].get<std::string>(),
             status["next"]["why"].get<std::string>());
}

Result<nlohmann::json> look_around() {
  std::error_code ignored;
  std::vector<nlohmann::json> runs;
  std::map<std::string, int> counts;
  if (std::filesystem::is_directory("runs", ignored)) {
    const nlohmann::json found = KEDGE_TRY(open_run_folders("runs")->search({.limit = 1'000'000}));
    for (const nlohmann::json& run : found["runs"]) {
      const bool is_shown = static_cast<std::size_t>(counts[run["state"]]) < kShown;
      // Of those that run all are looked at: any may be stuck.
      if (!is_shown && run["state"] != "running") {
        ++counts[run["state"]];
        continue;
      }
      nlohmann::json seen = look_at(run);
      if (static_cast<std::size_t>(++counts[seen["state"]]) <= kShown) {
        runs.push_back(std::move(seen));
      }
    }
  }
  std::erase_if(counts, [](const auto& count) { return count.second == 0; });
  const auto rank = [](const nlohmann::json& run) {
    return std::ranges::find(kStates, run["state"].get<std::string>()) - kStates.begin();
  };
  std::ranges::stable_sort(runs, {}, rank);
  std::int64_t jobs = 0;
  for (std::filesystem::directory_iterator entry("jobs", ignored), end; !ignored && entry != end;
       entry.increment(ignored)) {
    jobs += std::filesystem::exists(entry->path() / "job.json") ? 1 : 0;
  }
  nlohmann::json status = {
      {"counts", counts}, {"runs", runs}, {"sweeps", look_at_sweeps()}, {"jobs", jobs}};
  const Next next = choose_next(status["runs"], status["sweeps"]);
  status["next"] = {{"command", next.command}, {"why", next.why}};
  return status;
}

Result<void> show_status(Args args) {
  const VerbHelp help = {.usage = "kedge [status] [--json]",
                         .text =
                             "What runs in this folder and how far it is, what is stuck, what "
                             "failed, and what to type next.",
                         .flags = {kJsonFlag}};
  const auto arguments = KEDGE_TRY(parse_or_help(args, help));
  if (!arguments) {
    return {};
  }
  if (!arguments->positionals().empty()) {
    return fail(ErrorKind::Usage,
                fmt::format("unexpected word '{}'", arguments->positionals().front()),
                fmt::format("usage: {}", help.usage));
  }
  const nlohmann::json status = KEDGE_TRY(look_around());
  if (arguments->has("--json")) {
    print_json(status);
  } else {
    print_status(status);
  }
  return {};
}

}  // namespace

int run_status(Args args) {
  const auto done = show_status(args);
  return done ? kExitDone : report(done.error());
}

}  // namespace kedge::cli
