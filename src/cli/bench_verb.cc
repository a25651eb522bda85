// `kedge bench`: what this machine makes of a config, and what would be faster.
#include <chrono>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "cli/bench.h"
#include "cli/shared/arguments.h"
#include "cli/verbs.h"
#include "config/edit.h"
#include "core/file.h"
#include "core/log.h"
#include "core/result.h"

namespace kedge::cli {
namespace {

const VerbHelp kBenchHelp = {
    .usage = "kedge bench [CONFIG] [key=value ...] [options]",
    .text =
        "Measures a config on this machine: the loader alone over numbers of workers, the storage "
        "below it,\nshort real trainings in other precisions and, on a GPU, without captured steps "
        "and our kernels,\nwhat makes a step wait, and batch sizes until memory runs out. Says "
        "what would be faster. No run\nis kept.",
    .flags = {{"--loader", "", "only the loader, second by second, and the storage"},
              {"--batch-size", "", "only find the smallest batch that is as fast as any"},
              {"--write", "", "with --batch-size: put it into the config file"},
              {"--steps", "N", "optimizer steps of each training (60)"},
              {"--seconds", "S", "for each number of loader workers (2)"},
              {"--html", "FILE", "also write a page with charts"},
              kConfigFlag,
              kJsonFlag}};

Result<void> check_plan(const Arguments& arguments, const BenchPlan& plan) {
  constexpr std::int64_t kFewestSteps = 6;
  if (plan.steps < kFewestSteps || plan.loader_s < 1) {
    return fail(ErrorKind::Usage,
                fmt::format("--steps must be at least {}, --seconds at least 1", kFewestSteps),
                "the first steps and batches are slower than the others");
  }
  const bool is_part = arguments.has("--loader") || arguments.has("--batch-size");
  if (arguments.has("--loader") && arguments.has("--batch-size")) {
    return fail(ErrorKind::Usage, "--loader and --batch-size are two measurements",
                "ask for one of them, or for neither to get all");
  }
  if (arguments.has("--write") && !arguments.has("--batch-size")) {
    return fail(ErrorKind::Usage, "--write is for what --batch-size finds",
                "write `kedge bench --batch-size --write`");
  }
  if (is_part && arguments.has("--html")) {
    return fail(ErrorKind::Usage, "--html shows all measurements", "leave out the part");
  }
  return {};
}

Result<void> bench_loader(const Arguments& arguments, const config::LoadedConfig& config,
                          const BenchPlan& plan) {
  const bool is_json = arguments.has("--json");
  const LoaderReport report =
      KEDGE_TRY(watch_loader(*config, plan.loader_s, [&](const std::string& line) {
        const auto now =
            std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
        const std::string text = fmt::format(
            "{:%H:%M:%S}.{:03}  {}", fmt::localtime(std::chrono::system_clock::to_time_t(now)),
            now.time_since_epoch().count() % 1000, line);
        is_json ? say("{}", text) : fmt::print("{}\n", text);
        std::fflush(stdout);
      }));
  is_json ? fmt::print("{}\n", render_json(report)) : fmt::print("\n{}", render_text(report));
  return {};
}

Result<void> bench_batch_size(const Arguments& arguments, const config::LoadedConfig& config,
                              const BenchPlan& plan) {
  const BatchSearch search = KEDGE_TRY(find_batch_size(*config, plan));
  arguments.has("--json") ? fmt::print("{}\n", render_json(search))
                          : fmt::print("{}", render_text(search));
  if (arguments.has("--write")) {
    const std::string text = KEDGE_TRY(
        config::set_in_text(config.file_text, "loader.batch_size", std::to_string(search.best)));
    KEDGE_TRY(write_file_atomic(config.file, text));
    say("{} has loader.batch_size {} now, and had {}", config.file.string(), search.best,
        config->loader.batch_size);
  }
  return {};
}

Result<void> bench(Args args) {
  const auto arguments = KEDGE_TRY(parse_or_help(args, kBenchHelp));
  if (!arguments) {
    return {};
  }
  const config::LoadedConfig config = KEDGE_TRY(load_config_of(*arguments));
  BenchPlan plan{.config_file = config.file, .overrides = arguments->overrides()};
  plan.steps = KEDGE_TRY(arguments->number("--steps", plan.steps));
  plan.loader_s = static_cast<double>(
      KEDGE_TRY(arguments->number("--seconds", static_cast<std::int64_t>(plan.loader_s))));
  KEDGE_TRY(check_plan(*arguments, plan));
  if (arguments->has("--loader")) {
    return bench_loader(*arguments, config, plan);
  }
  if (arguments->has("--batch-size")) {
    return bench_batch_size(*arguments, config, plan);
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
