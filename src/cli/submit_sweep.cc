// `kedge submit SWEEP`: which sweep is meant, and what its trials run.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "cli/submit.h"
#include "config/load.h"
#include "core/file.h"
#include "sweep/sweep.h"
#include "sweep/sweep_folder.h"
#include "sweep/trial_command.h"

namespace kedge::cli {
namespace {

bool has_key(const std::string& text, const std::string& key) {
  return text.starts_with(key + ":") || text.find("\n" + key + ":") != std::string::npos;
}

SweepToRun sweep_to_run(const Path& folder, const sweep::SweepFacts& facts,
                        search::SweepPlan plan) {
  const Path config = sweep::find_trained_config(facts.program, plan);
  return {.folder = std::filesystem::absolute(folder).string(),
          .plan = std::move(plan),
          .config = config.empty() ? Path() : facts.folder / config,
          .name = facts.name.empty() ? facts.id : facts.name};
}

// A config with a `sweep:` section is its own program, and says which project its runs belong to.
Result<sweep::NewSweep> read_sweep_file(const Arguments& arguments, const std::string& word) {
  sweep::NewSweep sweep;
  sweep.text = KEDGE_TRY(read_file(word));
  sweep.file_name = word;
  sweep.is_table = word.ends_with(".csv");
  sweep.config = arguments.value("--config");
  const auto plan = KEDGE_TRY(sweep::read_plan(sweep.text, word, sweep.is_table));
  if (plan.is_section && sweep.config.empty() && plan.program.empty() && plan.command.empty()) {
    sweep.config = word;
    if (plan.project.empty()) {
      sweep.project = KEDGE_TRY(config::load_config({.file = word}))->run.project;
    }
  }
  return sweep;
}

}  // namespace

bool is_sweep(const std::string& word, const Arguments& arguments) {
  std::error_code ignored;
  const Path folder = Path(arguments.value("--dir", "sweeps")) / word;
  if (std::filesystem::exists(folder / "sweep.json", ignored) ||
      std::filesystem::exists(Path(word) / "sweep.json", ignored) || word.ends_with(".csv")) {
    return true;
  }
  const auto text = read_file(word);
  return text && (has_key(*text, "parameters") || has_key(*text, "sweep"));
}

Result<SweepToRun> open_sweep_to_run(const Arguments& arguments, bool is_dry) {
  const std::string& word = arguments.positionals().front();
  const std::string dir = arguments.value("--dir", "sweeps");
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(word, ignored)) {
    const auto folder = KEDGE_TRY(sweep::SweepFolder::open(word, dir));
    SweepToRun found = sweep_to_run(folder->path(), folder->facts(), folder->plan());
    for (const sweep::TrialView& view : KEDGE_TRY(folder->read_trials())) {
      found.ended += view.result ? 1 : 0;
    }
    return found;
  }
  const sweep::NewSweep sweep = KEDGE_TRY(read_sweep_file(arguments, word));
  search::SweepPlan plan = KEDGE_TRY(sweep::read_plan(sweep.text, word, sweep.is_table));
  if (is_dry) {
    sweep::SweepFacts facts = KEDGE_TRY(sweep::make_facts(sweep, plan));
    facts.id = "sweep";
    return sweep_to_run(Path(dir) / "SWEEP", facts, std::move(plan));
  }
  const auto folder = KEDGE_TRY(sweep::SweepFolder::create(dir, sweep));
  return sweep_to_run(folder->path(), folder->facts(), std::move(plan));
}

Result<std::int64_t> reopen_trials(const jobs::JobSpec& spec, std::int64_t task_count) {
  const auto word = std::ranges::find(spec.command, "agent");
  if (word == spec.command.end() || word + 1 == spec.command.end() ||
      word == spec.command.begin()) {
    return 0;
  }
  const Path path = *(word + 1);
  std::error_code ignored;
  if (!std::filesystem::exists(path / "sweep.json", ignored)) {
    return 0;  // a program of the user's with a word of ours
  }
  const auto folder = KEDGE_TRY(sweep::SweepFolder::open(path.string(), path.parent_path()));
  // A task of an array of trials runs one, an agent all that there are.
  const bool is_trial = std::ranges::find(spec.command, "--count") != spec.command.end();
  std::int64_t count = 0;
  for (const sweep::TrialView& view : KEDGE_TRY(folder->read_trials())) {
    if (view.trial.state == search::TrialState::Failed && (!is_trial || count < task_count)) {
      count += KEDGE_TRY(folder->retry(view.trial.number)) ? 1 : 0;
    }
  }
  return count;
}

}  // namespace kedge::cli
