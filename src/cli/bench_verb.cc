// `kedge bench`: what this machine makes of a config, and what would be faster.
#include <filesystem>

#include <fmt/format.h>

#include "cli/bench.h"
#include "cli/shared/arguments.h"
#include "cli/verbs.h"
#include "core/file.h"
#include "core/log.h"
#include "core/result.h"

namespace kedge::cli {
namespace {

const VerbHelp kHelp = {
    .usage = "kedge bench [CONFIG] [key=value ...] [options]",
    .text =
        "Measures a config on this machine: the loader alone over numbers of workers, short "
        "real trainings\nin other precisions and, on a GPU, without recorded steps and our "
        "kernels, and batch sizes until\nmemory runs out. Says what would be faster. No run "
        "is kept.",
    .flags = {{"--steps", "N", "optimizer steps of each training (60)"},
              {"--seconds", "S", "for each number of loader workers (2)"},
              {"--html", "FILE", "also write a page with charts"},
              kConfigFlag,
              kJsonFlag}};

Result<void> bench(Args args) {
  const auto arguments = KEDGE_TRY(parse_or_help(args, kHelp));
  if (!arguments) {
    return {};
  }
  const config::LoadedConfig config = KEDGE_TRY(load_config_of(*arguments));
  BenchPlan plan{.config_file = config.file, .overrides = arguments->overrides()};
  plan.steps = KEDGE_TRY(arguments->number("--steps", plan.steps));
  plan.loader_s = static_cast<double>(
      KEDGE_TRY(arguments->number("--seconds", static_cast<std::int64_t>(plan.loader_s))));
  constexpr std::int64_t kFewestSteps = 6;
  if (plan.steps < kFewestSteps || plan.loader_s < 1) {
    return fail(ErrorKind::Usage,
                fmt::format("--steps must be at least {}, --seconds at least 1", kFewestSteps),
                "the first steps and batches are slower than the others");
  }
  const BenchReport report = KEDGE_TRY(measure_all(*config, plan));
  fmt::print("{}\n", arguments->has("--json") ? render_json(report) : render_text(report));
  if (const std::string file = arguments->value("--html"); !file.empty()) {
    KEDGE_TRY(write_file_atomic(file, render_html(report)));
    say("the page with charts is {}", file);
  }
  return {};
}

}  // namespace

int run_bench(Args args) {
  const auto done = bench(args);
  return done ? kExitDone : report(done.error());
}

}  // namespace kedge::cli
