// `kedge ensemble SWEEP`: finds the runs of its best trials and lets kedge-train do the rest.
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/shared/arguments.h"
#include "cli/sweep.h"
#include "cli/verbs.h"
#include "core/result.h"
#include "search/trial.h"
#include "sweep/sweep.h"
#include "sweep/trial_table.h"

namespace kedge::cli {
namespace {

const VerbHelp kEnsembleHelp = {
    .usage =
        "kedge ensemble SWEEP [options]\n"
        "       kedge ensemble MODEL MODEL ... [key=value ...]",
    .text =
        "Measures trained models (run or checkpoint folders, or the best of a sweep) one by one "
        "and together:\nthe mean of their probabilities, and one model with the mean of their "
        "weights.",
    .flags = {{"--top", "K", "so many of the sweep's best trials (3)"},
              {"--output", "FILE", "write the mean weights there (.safetensors)"},
              {"--train", "", "measure on the training split instead"},
              {"--runs", "DIR", "the folder of runs, where the sweep is on a server (runs)"},
              kServerFlag,
              kTokenFlag,
              kSweepDirFlag,
              kJsonFlag}};

// What kedge-train gets: models in place of the sweep, and its own flags.
Result<std::vector<std::string>> find_words(const Arguments& arguments) {
  std::vector<std::string> words;
  const bool is_model = arguments.positionals().size() != 1 ||
                        std::filesystem::exists(Path(arguments.positionals()[0]) / "run.json");
  if (is_model) {
    words = arguments.positionals();
  } else {
    const std::int64_t top = KEDGE_TRY(arguments.number("--top", 3));
    const auto sweep = KEDGE_TRY(open_sweep_of(arguments));
    const auto trials = KEDGE_TRY(sweep->read_trials());
    for (const std::size_t index : sweep::rank_trials(sweep->plan().metric, trials)) {
      const Path run = sweep::find_run_path(*sweep, trials[index]);
      if (std::ssize(words) < top && trials[index].trial.metric && !run.empty() &&
          std::filesystem::exists(run / "checkpoints")) {
        words.push_back(run.string());
      }
    }
    if (words.size() < 2) {
      return fail(ErrorKind::NotFound,
                  fmt::format("sweep {} has {} trained models here; an ensemble needs two",
                              sweep->facts().id, words.size()),
                  "only trials of `kedge train` leave checkpoints");
    }
  }
  words.insert(words.end(), arguments.overrides().begin(), arguments.overrides().end());
  for (const char* const flag : {"--train", "--json"}) {
    if (arguments.has(flag)) {
      words.emplace_back(flag);
    }
  }
  if (const std::string file = arguments.value("--output"); !file.empty()) {
    words.insert(words.end(), {"--output", file});
  }
  return words;
}

}  // namespace

int run_ensemble(Args args) {
  const auto arguments = parse_or_help(args, kEnsembleHelp);
  if (!arguments) {
    return report(arguments.error());
  }
  if (!*arguments) {
    return kExitDone;
  }
  const auto words = find_words(**arguments);
  return words ? run_in_kedge_train("ensemble", *words) : report(words.error());
}

}  // namespace kedge::cli
