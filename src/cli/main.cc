// kedge: small, without libtorch, up in milliseconds.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cli/verbs.h"
#include "core/nearest.h"
#include "core/result.h"

namespace kedge::cli {
namespace {

struct Verb {
  std::string_view name;
  std::string_view summary;
  int (*run)(Args);  // null: kedge-train has it
};

constexpr auto kVerbs = std::to_array<Verb>({
    {"init", "make a project folder that runs", run_init},
    {"train", "train a model from a config", run_train_ranks},
    {"eval", "measure a trained model", nullptr},
    {"predict", "use a trained model on images or text", nullptr},
    {"export", "write a trained model for other programs", nullptr},
    {"ensemble", "use the best models of a sweep together, and measure that", run_ensemble},
    {"run", "run any program and keep what it prints and how it ends", run_run},
    {"verify-resume", "prove that a resumed training goes on the same", nullptr},
    {"sweep", "search over configs: make a sweep, look at it, change it", run_sweep},
    {"agent", "work on a sweep's trials", run_agent},
    {"importance", "which parameters of a sweep matter", run_importance},
    {"bench", "what this machine makes of a config, and what would be faster", run_bench},
    {"ckpt", "list, check, compare, thin out and export checkpoints", run_ckpt},
    {"config", "show every effective value, or the reference", run_config},
    {"data", "get data sets, tokenize text", run_data},
    {"runs", "list runs and print what they logged", run_runs},
    {"server", "keep runs and show them: the tracking server", run_server},
    {"artifact", "versioned files on a tracking server", run_artifact},
    {"sync", "send runs to a tracking server", run_sync},
    {"submit", "hand a job to Slurm, HTCondor or this machine", run_submit},
    {"jobs", "the jobs that were submitted, and how they are", run_jobs},
    {"logs", "what jobs have printed, over all nodes", run_logs},
    {"cancel", "end jobs, wherever they run", run_cancel},
    {"retry", "submit again what did not end well", run_retry},
    {"container", "images of what a run needs, for Docker and Apptainer", run_container},
    {"task", "what runs inside a job, around its program", run_task},
    {"list", "what models, optimizers, ... there are", run_list},
    {"scale", "what more ranks on this machine would bring", run_scale},
    {"net", "whether two machines reach each other, and how fast", run_net},
});

std::string usage() {
  std::string text = "usage: kedge VERB [...]      `kedge VERB --help` says more\n\n";
  for (const Verb& verb : kVerbs) {
    text += fmt::format("  {:<10} {}\n", verb.name, verb.summary);
  }
  return text;
}

int run(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  if (args.empty()) {
    fmt::print(stderr, "{}", usage());
    return kExitUsage;
  }
  if (args.front() == "--help" || args.front() == "-h" || args.front() == "help") {
    fmt::print("{}", usage());
    return kExitDone;
  }
  if (args.front() == "--version") {
    fmt::print("kedge {}\n", KEDGE_VERSION);
    return kExitDone;
  }
  const auto verb = std::ranges::find(kVerbs, args.front(), &Verb::name);
  if (verb == kVerbs.end()) {
    std::vector<std::string> names;
    for (const Verb& known : kVerbs) {
      names.emplace_back(known.name);
    }
    return report(unknown_name("verb", args.front(), names));
  }
  const Args rest = Args(args).subspan(1);
  return verb->run != nullptr ? verb->run(rest) : run_in_kedge_train(args.front(), rest);
}

}  // namespace
}  // namespace kedge::cli

int main(int argc, char** argv) {
  return kedge::cli::run(argc, argv);
}
