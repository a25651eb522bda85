#include "sweep/trial_command.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/file.h"
#include "core/process.h"
#include "core/result.h"
#include "search/space.h"
#include "sweep/sweep.h"

namespace kedge::sweep {
namespace {

std::string python_text(const nlohmann::json& value) {
  if (value.is_boolean()) {
    return value.get<bool>() ? "True" : "False";
  }
  if (value.is_null()) {
    return "None";
  }
  return value.is_string() ? value.get<std::string>() : value.dump();
}

using Words = std::vector<std::string>;

Words render_args(const nlohmann::json& values, std::string_view macro) {
  Words words;
  const nlohmann::json flat = search::flatten(values);
  for (const auto& [key, value] : flat.items()) {
    const std::string text = python_text(value);
    if (macro == "args_no_hyphens") {
      words.push_back(key + "=" + text);
    } else if (macro == "args_no_equals") {
      words.push_back("--" + key);
      words.push_back(text);
    } else if (macro == "args_no_boolean_flags" && value.is_boolean()) {
      if (value.get<bool>()) {
        words.push_back("--" + key);
      }
    } else {
      words.push_back("--" + key + "=" + text);
    }
  }
  return words;
}

bool is_args_macro(std::string_view name) {
  return name == "args" || name == "args_no_hyphens" || name == "args_no_equals" ||
         name == "args_no_boolean_flags";
}

// "${env}" alone is "env"; else empty.
std::string_view whole_macro(std::string_view word) {
  return word.starts_with("${") && word.ends_with('}') && word.find('}') == word.size() - 1
             ? word.substr(2, word.size() - 3)
             : std::string_view();
}

Result<std::string> fill_macro(std::string_view name, const std::string& program,
                               const nlohmann::json& values, const Path& json_file) {
  constexpr std::string_view kVariable = "envvar:";
  if (name == "env") {
    return std::string("/usr/bin/env");
  }
  if (name == "interpreter") {
    return std::string(find_program("python") ? "python" : "python3");
  }
  if (name == "program") {
    return program;
  }
  if (name == "args_json") {
    return values.dump();
  }
  if (name == "args_json_file") {
    return json_file.string();
  }
  if (name.starts_with(kVariable)) {
    const char* const value = std::getenv(std::string(name.substr(kVariable.size())).c_str());
    return std::string(value == nullptr ? "" : value);
  }
  return fail(ErrorKind::Usage, fmt::format("the command has the unknown macro ${{{}}}", name),
              "known: env, interpreter, program, args, args_no_hyphens, args_no_equals, "
              "args_no_boolean_flags, args_json, args_json_file, envvar:NAME");
}

Words default_command(const std::string& program) {
  if (Path(program).extension() == ".py") {
    return {"${env}", "${interpreter}", "${program}", "${args}"};
  }
  return {"${program}", "${args}"};
}

bool is_config_name(const std::string& word) {
  return word.ends_with(".yaml") || word.ends_with(".yml");
}

// {"lr": {"value": 0.1}}: the file that wandb.init() reads the swept values from.
nlohmann::json wandb_params(const nlohmann::json& values) {
  nlohmann::json params = {{"wandb_version", 1}};
  for (const auto& [key, value] : values.items()) {
    params[key] = {{"value", value}};
  }
  return params;
}

// `kedge train ...`, perhaps behind env: it keeps its run itself, and nobody need watch over it.
bool is_own_training(const Words& words) {
  const std::size_t at = !words.empty() && words[0] == "/usr/bin/env" ? 1 : 0;
  return words.size() > at + 1 && Path(words[at]).filename() == "kedge" && words[at + 1] == "train";
}

void add_training(const SweepFacts& facts, TrialCommand& command) {
  command.variables.emplace_back("KEDGE__TRACK__DIR", facts.runs.string());
  command.variables.emplace_back("KEDGE__RUN__GROUP", facts.id);
  if (!facts.project.empty()) {
    command.variables.emplace_back("KEDGE__RUN__PROJECT", facts.project);
  }
}

bool has_variable(const char* name) {
  return std::getenv(name) != nullptr;
}

// Where nobody says otherwise, wandb and mlflow keep to the trial's folder, where the metric is
// read from.
void add_trackers(const Sweep& sweep, const TrialView& view, const Path& trial,
                  TrialCommand& command) {
  auto& variables = command.variables;
  variables.emplace_back("WANDB_SWEEP_ID", sweep.facts().id);
  variables.emplace_back("WANDB_RUN_ID", view.run);
  variables.emplace_back("WANDB_SWEEP_PARAM_PATH", (trial / "wandb-params.yaml").string());
  if (!has_variable("WANDB_MODE") && !has_variable("WANDB_API_KEY") &&
      !has_variable("WANDB_BASE_URL")) {
    variables.emplace_back("WANDB_MODE", "offline");
  }
  if (!has_variable("WANDB_DIR")) {
    variables.emplace_back("WANDB_DIR", trial.string());
  }
  if (!has_variable("MLFLOW_TRACKING_URI")) {
    variables.emplace_back("MLFLOW_TRACKING_URI", "file://" + (trial / "mlruns").string());
    variables.emplace_back("MLFLOW_ALLOW_FILE_STORE", "true");
  }
}

}  // namespace

std::vector<std::string> make_args(const nlohmann::json& values) {
  return render_args(values, "args");
}

std::vector<std::string> make_words(const nlohmann::json& values) {
  return render_args(values, "args_no_hyphens");
}

Result<std::vector<std::string>> expand_macros(const std::vector<std::string>& words,
                                               const std::string& program,
                                               const nlohmann::json& values,
                                               const Path& json_file) {
  Words expanded;
  for (const std::string& word : words) {
    if (const std::string_view macro = whole_macro(word); is_args_macro(macro)) {
      for (std::string& arg : render_args(values, macro)) {
        expanded.push_back(std::move(arg));
      }
      continue;
    }
    std::string filled;
    std::string_view rest = word;
    for (;;) {
      const std::size_t begin = rest.find("${");
      const std::size_t end = rest.find('}', begin);
      if (begin == std::string_view::npos || end == std::string_view::npos) {
        break;
      }
      filled += rest.substr(0, begin);
      filled += KEDGE_TRY(
          fill_macro(rest.substr(begin + 2, end - begin - 2), program, values, json_file));
      rest.remove_prefix(end + 1);
    }
    expanded.push_back(filled + std::string(rest));
  }
  return expanded;
}

Path find_trained_config(const std::string& program, const search::SweepPlan& plan) {
  if (is_config_name(program)) {
    return program;
  }
  // Its macros are filled in again for each trial, which reports one that is wrong.
  const auto words = expand_macros(plan.command, program, nlohmann::json::object(), {});
  if (!words || !is_own_training(*words)) {
    return {};
  }
  const auto named = std::ranges::find_if(*words, is_config_name);
  constexpr std::string_view kFlag = "--config=";
  return named == words->end()       ? "config.yaml"
         : named->starts_with(kFlag) ? Path(named->substr(kFlag.size()))
                                     : Path(*named);
}

Result<TrialCommand> make_trial_command(const Sweep& sweep, const TrialView& view,
                                        const Path& kedge) {
  const SweepFacts& facts = sweep.facts();
  const Path trial = sweep.trial_path(view.trial.number);
  const nlohmann::json& values = view.trial.values;
  KEDGE_TRY(make_dirs(trial));
  KEDGE_TRY(write_file_atomic(trial / "values.json", values.dump(2) + "\n"));
  KEDGE_TRY(write_file_atomic(trial / "wandb-params.yaml", wandb_params(values).dump(2) + "\n"));
  TrialCommand command;
  command.variables = {{"KEDGE_SWEEP_ID", facts.id},
                       {"KEDGE_SWEEP_TRIAL", std::to_string(view.trial.number)},
                       {"KEDGE_RUN_ID", view.run}};
  for (auto& variable : sweep.variables()) {
    command.variables.push_back(std::move(variable));
  }
  if (facts.is_config) {
    command.args = {kedge.string(), "train", facts.program};
    command.args.insert(command.args.end(), facts.overrides.begin(), facts.overrides.end());
    command.variables.emplace_back("KEDGE_SWEEP_VALUES", "@" + (trial / "values.json").string());
    add_training(facts, command);
    return command;
  }
  const Words words =
      sweep.plan().command.empty() ? default_command(facts.program) : sweep.plan().command;
  std::string program = facts.program;
  if (!program.empty() && program.find('/') == std::string::npos && words.front() == "${program}") {
    program = "./" + program;
  }
  const Words expanded = KEDGE_TRY(expand_macros(words, program, values, trial / "values.json"));
  if (is_own_training(expanded)) {
    const std::ptrdiff_t at = expanded[0] == "/usr/bin/env" ? 1 : 0;
    command.args.assign(expanded.begin() + at, expanded.end());
    command.args.front() = kedge.string();
    command.args.insert(command.args.end(), facts.overrides.begin(), facts.overrides.end());
    add_training(facts, command);
    return command;
  }
  const std::string project = facts.project.empty() ? "default" : facts.project;
  command.args = {kedge.string(),      "run",       "--quiet", "--id",    view.run, "--dir",
                  facts.runs.string(), "--project", project,   "--group", facts.id, "--"};
  command.args.insert(command.args.end(), expanded.begin(), expanded.end());
  command.variables.emplace_back("KEDGE_SWEEP_VALUES", values.dump());
  command.variables.emplace_back("KEDGE_SWEEP_FILE", (trial / "values.json").string());
  add_trackers(sweep, view, trial, command);
  return command;
}

}  // namespace kedge::sweep
