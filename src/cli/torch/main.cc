// kedge-train: the verbs that need libtorch. People type `kedge VERB`, which starts this.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cli/torch/verbs.h"
#include "core/log.h"
#include "core/result.h"
#include "device/instruction_set.h"

namespace kedge::cli {
namespace {

struct Verb {
  std::string_view name;
  Result<void> (*run)(const Invocation&);
};

constexpr auto kVerbs = std::to_array<Verb>({
    {"train", run_train},
    {"eval", run_eval},
    {"ensemble", run_ensemble},
    {"predict", run_predict},
    {"generate", run_generate},
    {"chat", run_chat},
    {"serve", run_serve},
    {"score", run_score},
    {"export", run_export},
    {"merge", run_merge},
    {"verify-resume", run_verify_resume},
    {"ckpt", run_ckpt_estimate},
    {"list", run_list_torch},
});

// Ranks say it once.
bool is_first_rank() {
  const char* const rank = std::getenv("RANK");
  return rank == nullptr || std::string_view(rank) == "0";
}

int run(int argc, char** argv) {
  if (const std::string limit = device::limit_instruction_set();
      !limit.empty() && is_first_rank()) {
    warn(
        "this processor announces AMX and cannot execute it: bf16 is computed without (set "
        "ONEDNN_MAX_CPU_ISA={})",
        limit);
  }
  const std::vector<std::string> args(argv + 1, argv + argc);
  const auto verb =
      args.empty() ? kVerbs.end() : std::ranges::find(kVerbs, args.front(), &Verb::name);
  if (verb == kVerbs.end()) {
    fmt::print(stderr, "kedge-train is started by `kedge`; see `kedge --help`\n");
    return kExitUsage;
  }
  const auto done = verb->run({.args = std::span(args).subspan(1), .argc = argc, .argv = argv});
  return done ? kExitDone : report(done.error());
}

}  // namespace
}  // namespace kedge::cli

int main(int argc, char** argv) {
  return kedge::cli::run(argc, argv);
}
