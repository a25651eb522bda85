// `kedge runs show` and `kedge runs compare`.
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/run_source.h"
#include "cli/runs.h"
#include "cli/server_calls.h"
#include "cli/shared/arguments.h"
#include "cli/shared/json_output.h"
#include "cli/shared/text_table.h"
#include "core/time_text.h"

namespace kedge::cli {
namespace {

// "optimizer.lr" -> 0.1. Lists are values.
void flatten(const nlohmann::json& json, const std::string& prefix,
             std::map<std::string, std::string>& flat) {
  for (const auto& [key, value] : json.items()) {
    const std::string name = prefix.empty() ? key : prefix + "." + key;
    if (value.is_object() && !value.empty()) {
      flatten(value, name, flat);
    } else {
      flat[name] = value.is_string() ? value.get<std::string>() : value.dump();
    }
  }
}

std::map<std::string, std::string> flat_config(const nlohmann::json& run) {
  std::map<std::string, std::string> flat;
  if (const auto config = run.find("config"); config != run.end() && config->is_object()) {
    flatten(*config, "", flat);
  }
  return flat;
}

// Numbers as people read them; NaN comes as a text from servers.
std::string render_value(const nlohmann::json& value) {
  if (value.is_number_float()) {
    return fmt::format("{:.6g}", value.get<double>());
  }
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string text_of(const nlohmann::json& run, const char* key) {
  const auto found = run.find(key);
  return found == run.end() || !found->is_string() ? "" : found->get<std::string>();
}

void print_facts(const nlohmann::json& run) {
  std::vector<std::vector<std::string>> rows = {
      {"run", fmt::format("{} ({}/{})", text_of(run, "name"), text_of(run, "project"),
                          text_of(run, "id"))},
      {"state", text_of(run, "state")},
      {"created", time_of(run, "created_us")},
      {"ended", time_of(run, "ended_us")},
      {"user", text_of(run, "user")},
      {"host", text_of(run, "host")},
      {"group", text_of(run, "group")},
      {"job type", text_of(run, "job_type")},
      {"notes", text_of(run, "notes")},
      {"folder", text_of(run, "path")}};
  if (const auto tags = run.find("tags"); tags != run.end() && tags->is_array()) {
    rows.push_back(
        {"tags", fmt::format("{}", fmt::join(tags->get<std::vector<std::string>>(), ", "))});
  }
  if (const auto attempts = run.find("attempts"); attempts != run.end()) {
    rows.push_back({"attempts", std::to_string(attempts->size())});
  }
  std::erase_if(rows, [](const auto& row) { return row[1].empty(); });
  fmt::print("{}", render_table(rows));
}

void print_summary(const nlohmann::json& run) {
  std::vector<std::vector<std::string>> rows = {{"METRIC", "LAST", "MIN", "MAX", "STEP"}};
  const nlohmann::json summary = run.value("summary", nlohmann::json::object());
  for (const auto& [key, value] : summary.items()) {
    const auto cell = [&, &entry = value](const char* name) {
      const auto found = entry.find(name);
      return found == entry.end() ? "-" : render_value(*found);
    };
    rows.push_back({key, cell("last"), cell("min"), cell("max"), cell("last_step")});
  }
  if (rows.size() > 1) {
    fmt::print("\n{}", render_table(rows));
  }
}

// One line for each key whose values differ.
void print_differences(const std::vector<std::map<std::string, std::string>>& runs,
                       const std::vector<std::string>& heads, const char* title, bool all) {
  std::set<std::string> keys;
  for (const auto& run : runs) {
    for (const auto& [key, value] : run) {
      keys.insert(key);
    }
  }
  std::vector<std::vector<std::string>> rows;
  for (const std::string& key : keys) {
    std::vector<std::string> row = {key};
    std::set<std::string> values;
    for (const auto& run : runs) {
      const auto found = run.find(key);
      row.push_back(found == run.end() ? "-" : found->second);
      values.insert(row.back());
    }
    if (all || values.size() > 1) {
      rows.push_back(std::move(row));
    }
  }
  rows.insert(rows.begin(), {title});
  rows.front().insert(rows.front().end(), heads.begin(), heads.end());
  fmt::print("{}", render_table(rows));
}

}  // namespace

std::string time_of(const nlohmann::json& run, const char* key) {
  const std::int64_t us = run.value(key, std::int64_t{0});
  return us == 0 ? "" : render_time(us);
}

Result<void> show_run(Args args) {
  const VerbHelp help = {
      .usage = "kedge runs show RUN",
      .text =
          "Prints who a run is, its config and what it came to. RUN: a run's folder, id or name; "
          "on a server\nPROJECT/ID.",
      .flags = {kRunsDirFlag, kServerFlag, kTokenFlag, kJsonFlag}};
  const auto arguments = KEDGE_TRY(parse_or_help(args, help));
  if (!arguments) {
    return {};
  }
  if (arguments->positionals().size() != 1) {
    return fail(ErrorKind::Usage, "runs show needs one run", fmt::format("usage: {}", help.usage));
  }
  const auto source = KEDGE_TRY(open_runs(*arguments));
  const nlohmann::json run = KEDGE_TRY(source->load(arguments->positionals().front()));
  if (arguments->has("--json")) {
    print_json(run);
    return {};
  }
  print_facts(run);
  std::vector<std::vector<std::string>> rows = {{"CONFIG", "VALUE"}};
  for (const auto& [key, value] : flat_config(run)) {
    rows.push_back({key, value});
  }
  if (rows.size() > 1) {
    fmt::print("\n{}", render_table(rows));
  }
  print_summary(run);
  return {};
}

Result<void> compare_runs(Args args) {
  const VerbHelp help = {
      .usage = "kedge runs compare RUN RUN ...",
      .text = "Prints where the configs of runs differ, and the last value of every metric.",
      .flags = {{"--all", "", "also what is the same"},
                kRunsDirFlag,
                kServerFlag,
                kTokenFlag,
                kJsonFlag}};
  const auto arguments = KEDGE_TRY(parse_or_help(args, help));
  if (!arguments) {
    return {};
  }
  if (arguments->positionals().size() < 2) {
    return fail(ErrorKind::Usage, "runs compare needs two runs or more",
                fmt::format("usage: {}", help.usage));
  }
  const auto source = KEDGE_TRY(open_runs(*arguments));
  nlohmann::json runs = nlohmann::json::array();
  for (const std::string& word : arguments->positionals()) {
    runs.push_back(KEDGE_TRY(source->load(word)));
  }
  if (arguments->has("--json")) {
    print_json(runs);
    return {};
  }
  std::vector<std::string> heads;
  std::vector<std::map<std::string, std::string>> configs;
  std::vector<std::map<std::string, std::string>> metrics;
  for (const nlohmann::json& run : runs) {
    heads.push_back(text_of(run, "name"));
    configs.push_back(flat_config(run));
    metrics.emplace_back();
    const nlohmann::json summary = run.value("summary", nlohmann::json::object());
    for (const auto& [key, value] : summary.items()) {
      metrics.back()[key] = value.contains("last") ? render_value(value["last"]) : "-";
    }
  }
  print_differences(configs, heads, "CONFIG", arguments->has("--all"));
  fmt::print("\n");
  print_differences(metrics, heads, "METRIC", true);
  return {};
}

}  // namespace kedge::cli
