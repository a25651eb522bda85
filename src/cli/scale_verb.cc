#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "cli/shared/arguments.h"
#include "cli/shared/json_output.h"
#include "cli/verbs.h"
#include "core/file.h"
#include "core/log.h"
#include "core/process.h"
#include "core/result.h"
#include "core/units.h"
#include "ranks/scaling.h"

namespace kedge::cli {
namespace {

const VerbHelp kScaleHelp = {
    .usage = "kedge scale [CONFIG] [key=value ...] [--ranks 1,2,4] [--steps N]",
    .text =
        "Trains a few steps with several numbers of ranks on this machine and says what they "
        "bring: samples a second, speed-up, efficiency, the time spent waiting for each other, and "
        "Amdahl's limit. Nothing is kept.",
    .flags = {kConfigFlag,
              {"--ranks", "LIST", "numbers of ranks to try, besides 1 (2,4)"},
              {"--steps", "N", "steps of each (60)"},
              kJsonFlag}};

Result<std::vector<std::int64_t>> parse_ranks(const std::string& text) {
  std::vector<std::int64_t> ranks = {1};
  const char* at = text.data();
  const char* end = at + text.size();
  while (at < end) {
    std::int64_t value = 0;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc() || value < 1 || (next < end && *next != ',')) {
      return fail(ErrorKind::Usage, fmt::format("--ranks '{}' is no list of numbers", text));
    }
    ranks.push_back(value);
    at = next + 1;
  }
  std::ranges::sort(ranks);
  ranks.erase(std::ranges::unique(ranks).begin(), ranks.end());
  return ranks;
}

// A folder of our own that goes with us.
struct Scratch {
  Path path = std::filesystem::temp_directory_path() / fmt::format("kedge-scale-{}", ::getpid());

  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

struct Trial {
  Args args;
  std::string project;
  std::int64_t steps = 0;
  Path folder;
};

Result<ranks::ScalePoint> measure(const Trial& trial, std::int64_t ranks) {
  const std::string id = fmt::format("ranks-{}", ranks);
  std::error_code error;
  Command command{
      .args = {std::filesystem::read_symlink("/proc/self/exe", error).string(), "train"}};
  command.args.insert(command.args.end(), trial.args.begin(), trial.args.end());
  for (const std::string& value :
       {fmt::format("dist.ranks={}", ranks), fmt::format("job.ranks={}", ranks),
        fmt::format("train.max_steps={}", trial.steps),
        fmt::format("track.dir={}", trial.folder.string()), "run.id=" + id,
        std::string("dist.nodes=1"), std::string("dist.min_nodes=0"), std::string("dist.endpoint="),
        std::string("resume=never"), std::string("checkpoint.enabled=false"),
        std::string("train.eval_every=0"), std::string("track.server="),
        std::string("dist.restarts=0")}) {
    command.args.push_back(value);
  }
  const ProcessResult result = KEDGE_TRY(run_process(command));
  if (!result.is_ok()) {
    return fail(ErrorKind::Unavailable,
                fmt::format("the training with {} ranks failed:\n{}", ranks, result.errors));
  }
  const Path file = trial.folder / trial.project / id / "run.json";
  const auto run = nlohmann::json::parse(KEDGE_TRY(read_file(file)), nullptr, false);
  const auto summary = run.is_object() ? run.value("summary", nlohmann::json()) : nlohmann::json();
  if (!summary.is_object() || !summary.contains("samples_per_s")) {
    return fail(ErrorKind::Corrupt, fmt::format("{} has no summary", file.string()));
  }
  return ranks::ScalePoint{.ranks = ranks,
                           .samples_per_s = summary["samples_per_s"],
                           .collective_fraction = summary.value("exchange_share", 0.0)};
}

void print(const std::vector<ranks::ScaleRow>& rows, std::int64_t nodes, bool as_json) {
  const auto fraction = ranks::parallel_fraction(rows.back());
  std::string advice = ranks::advise_ranks(rows);
  if (const std::string more = ranks::advise_nodes(rows, nodes); !more.empty()) {
    advice += "\n" + more;
  }
  if (as_json) {
    nlohmann::json list = nlohmann::json::array();
    for (const ranks::ScaleRow& row : rows) {
      list.push_back({{"ranks", row.point.ranks},
                      {"samples_per_s", row.point.samples_per_s},
                      {"speed_up", row.speed_up},
                      {"efficiency", row.efficiency},
                      {"exchange_share", row.point.collective_fraction}});
    }
    nlohmann::json json = {{"rows", std::move(list)}, {"advice", advice}};
    json["parallel_share"] = fraction ? nlohmann::json(*fraction) : nlohmann::json(nullptr);
    print_json(json);
    return;
  }
  fmt::print("{:>5}  {:>9}  {:>8}  {:>10}  {:>7}\n", "ranks", "samples/s", "speed-up", "efficiency",
             "waiting");
  for (const ranks::ScaleRow& row : rows) {
    fmt::print("{:>5}  {:>9}  {:>8.2f}  {:>9.0f}%  {:>6.0f}%\n", row.point.ranks,
               render_count(row.point.samples_per_s), row.speed_up, row.efficiency * 100,
               row.point.collective_fraction * 100);
  }
  if (fraction && *fraction < 1) {
    fmt::print(
        "{:.0f}% of the work is shared out (Amdahl): no number of ranks is more than {:.3g} "
        "times as fast\n",
        *fraction * 100, 1 / (1 - *fraction));
  }
  fmt::print("{}\n", advice);
}

Result<void> scale(const Arguments& arguments, Args args) {
  const auto config = KEDGE_TRY(load_config_of(arguments));
  const auto ranks = KEDGE_TRY(parse_ranks(arguments.value("--ranks", "2,4")));
  // What is ours is not for the trainings.
  std::vector<std::string> rest;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (args[i] == "--ranks" || args[i] == "--steps") {
      ++i;
    } else if (args[i] != "--json" && !args[i].starts_with("--ranks=") &&
               !args[i].starts_with("--steps=")) {
      rest.push_back(args[i]);
    }
  }
  const Scratch scratch;
  const Trial trial{.args = rest,
                    .project = config->run.project,
                    .steps = KEDGE_TRY(arguments.number("--steps", 60)),
                    .folder = scratch.path};
  std::vector<ranks::ScalePoint> points;
  for (const std::int64_t count : ranks) {
    say("trying {} rank{}, {} steps", count, count == 1 ? "" : "s", trial.steps);
    points.push_back(KEDGE_TRY(measure(trial, count)));
  }
  print(ranks::compare_scales(points), config->dist.nodes, arguments.has("--json"));
  return {};
}

}  // namespace

int run_scale(Args args) {
  const auto arguments = parse_or_help(args, kScaleHelp);
  if (!arguments) {
    return report(arguments.error());
  }
  if (!*arguments) {
    return kExitDone;
  }
  const auto done = scale(**arguments, args);
  return done ? kExitDone : report(done.error());
}

}  // namespace kedge::cli
