// `kedge sweep best`: the best trial's whole config as YAML, to train again.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/server_calls.h"
#include "cli/shared/arguments.h"
#include "cli/sweep.h"
#include "core/file.h"
#include "core/log.h"
#include "core/result.h"
#include "core/url.h"
#include "sweep/sweep.h"
#include "sweep/trial_command.h"
#include "sweep/trial_table.h"

namespace kedge::cli {
namespace {

Result<const sweep::TrialView*> find_best(const sweep::Sweep& sweep,
                                          const std::vector<sweep::TrialView>& trials) {
  const auto order = sweep::rank_trials(sweep.plan().metric, trials);
  if (order.empty() || !trials[order.front()].trial.metric) {
    return fail(ErrorKind::NotFound,
                fmt::format("no trial of sweep {} has a result yet", sweep.facts().id));
  }
  return &trials[order.front()];
}

// Quoted unless YAML takes it for nothing but text.
std::string render_key(const std::string& key) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-";
  const bool is_plain = !key.empty() && key.find_first_not_of(kPlain) == std::string::npos &&
                        key.find_first_of("abcdefghijklmnopqrstuvwxyz_") == 0;
  return is_plain ? key : nlohmann::json(key).dump();
}

void render_yaml(const nlohmann::json& values, int depth, std::string& text) {
  for (const auto& [key, value] : values.items()) {
    const std::string indent(static_cast<std::size_t>(depth) * 2, ' ');
    if (value.is_object() && !value.empty()) {
      text += fmt::format("{}{}:\n", indent, render_key(key));
      render_yaml(value, depth + 1, text);
    } else {
      text += fmt::format("{}{}: {}\n", indent, render_key(key), value.dump());
    }
  }
}

// The effective config in a run's folder, without what names that run.
std::string without_name(const std::string& config, const std::string& run) {
  std::string text;
  std::size_t begin = 0;
  while (begin < config.size()) {
    const std::size_t end = std::min(config.find('\n', begin), config.size() - 1);
    const std::string line = config.substr(begin, end - begin + 1);
    const bool names_run = line.starts_with("  id:") || line.starts_with("  name: " + run);
    text += names_run ? "" : line;
    begin = end + 1;
  }
  return text;
}

// The config that the server has of a run; nothing: it does not know the run, or no config of it.
Result<std::optional<std::string>> fetch_config(ServerCalls server, const std::string& project,
                                                const std::string& run) {
  const auto found = server.fetch(
      fmt::format("/api/v1/runs/{}/{}", encode_url_part(project), encode_url_part(run)));
  if (!found && found.error().kind != ErrorKind::NotFound) {
    return std::unexpected(found.error());
  }
  nlohmann::json config =
      found ? found->value("config", nlohmann::json::object()) : nlohmann::json::object();
  if (config.empty()) {
    return std::nullopt;
  }
  config.erase("_wandb");  // the client's own notes
  if (const auto section = config.find("run"); section != config.end() && section->is_object()) {
    section->erase("id");
    if (section->value("name", nlohmann::json()) == run) {
      section->erase("name");
    }
  }
  std::string text;
  render_yaml(config, 0, text);
  return text;
}

// Of the run's folder where it is here, else of the server; of a program that keeps no config, the
// trial's values.
Result<std::string> config_of(const Arguments& arguments, const sweep::Sweep& sweep,
                              const sweep::TrialView& view) {
  const Path run = sweep::find_run_path(sweep, view);
  const bool is_training = !sweep::find_trained_config(sweep.facts().program, sweep.plan()).empty();
  if (const auto config = read_file(run / "config.yaml"); is_training && !run.empty() && config) {
    return without_name(*config, view.run);
  }
  if (const auto url = server_of(arguments)) {
    const auto config = KEDGE_TRY(fetch_config(KEDGE_TRY(ServerCalls::open(*url, arguments)),
                                               sweep.facts().project, view.run));
    if (config) {
      return *config;
    }
  }
  std::string text;
  render_yaml(view.trial.values, 0, text);
  return text;
}

Result<void> best(const Arguments& arguments, sweep::Sweep& sweep) {
  const auto trials = KEDGE_TRY(sweep.read_trials());
  const sweep::TrialView& view = *KEDGE_TRY(find_best(sweep, trials));
  if (arguments.has("--json")) {
    fmt::print("{}\n", trial_json(view).dump());
    return {};
  }
  say("kedge: trial {}: {} {:.6g}", view.trial.number, sweep.plan().metric.name,
      *view.trial.metric);
  const std::string text = KEDGE_TRY(config_of(arguments, sweep, view));
  if (const std::string file = arguments.value("--output"); !file.empty()) {
    return write_file_atomic(file, text);
  }
  fmt::print("{}", text);
  return {};
}

}  // namespace

int run_sweep_best(Args args) {
  return with_sweep(args,
                    {.usage = "kedge sweep best ID [options]",
                     .text = "The best trial's config as YAML, to train again.",
                     .flags = {{"--output", "FILE", "write it there"},
                               kServerFlag,
                               kTokenFlag,
                               kSweepDirFlag,
                               kJsonFlag}},
                    best);
}

}  // namespace kedge::cli
