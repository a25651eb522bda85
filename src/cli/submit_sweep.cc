// `kedge submit SWEEP`: which sweep is meant, and what its trials run.
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
    return sweep_to_run(folder->path(), folder->facts(), folder->plan());
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

}  // namespace kedge::cli
