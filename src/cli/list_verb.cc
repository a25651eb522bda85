#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "cli/shared/arguments.h"
#include "cli/shared/plugin_table.h"
#include "cli/verbs.h"
#include "core/nearest.h"
#include "data/dataset.h"
#include "data/pipeline.h"
#include "jobs/gpu_catalogue.h"
#include "jobs/launcher.h"
#include "search/sampler.h"

namespace kedge::cli {
namespace {

constexpr auto kTorchKinds =
    std::to_array<std::string_view>({"losses", "models", "optimizers", "schedules"});

template <typename Plugins>
void print_registry(bool as_json) {
  std::vector<std::pair<std::string, std::string>> list;
  for (const auto& [name, entry] : Plugins::all()) {
    list.emplace_back(name, entry.summary);
  }
  print_plugins(list, as_json);
}

void print_gpus(bool as_json) {
  std::vector<std::pair<std::string, std::string>> list;
  for (const jobs::GpuModel& model : jobs::gpu_catalogue()) {
    const bool is_used = model.capability >= jobs::kOldestForKedgeTrain;
    list.emplace_back(
        model.name, fmt::format("capability {}, {} GB{}", jobs::render_capability(model.capability),
                                model.memory_gb, is_used ? "" : "; too old for kedge train"));
  }
  print_plugins(list, as_json);
}

}  // namespace

int run_list(Args args) {
  const VerbHelp help = {
      .usage = "kedge list KIND",
      .text =
          "What there is to choose from. KIND: data, transforms, samplers, schedulers, gpus, "
          "models, losses, optimizers, schedules.",
      .flags = {kJsonFlag}};
  const auto parsed = parse_or_help(args, help);
  if (!parsed) {
    return report(parsed.error());
  }
  if (!*parsed) {
    return kExitDone;
  }
  const Arguments& arguments = **parsed;
  if (arguments.positionals().size() != 1 || !arguments.overrides().empty()) {
    return report({ErrorKind::Usage, "list needs one kind",
                   "kinds: data, transforms, samplers, schedulers, gpus, models, losses, "
                   "optimizers, schedules"});
  }
  const std::string kind = arguments.positionals().front();
  if (std::ranges::find(kTorchKinds, kind) != kTorchKinds.end()) {
    return run_in_kedge_train("list", args);
  }
  if (kind == "data") {
    print_registry<data::Sources>(arguments.has("--json"));
  } else if (kind == "transforms") {
    print_registry<data::Transforms>(arguments.has("--json"));
  } else if (kind == "samplers") {
    print_registry<search::Samplers>(arguments.has("--json"));
  } else if (kind == "schedulers") {
    print_registry<jobs::Launchers>(arguments.has("--json"));
  } else if (kind == "gpus") {
    print_gpus(arguments.has("--json"));
  } else {
    std::vector<std::string> kinds = {"data", "transforms", "samplers", "schedulers", "gpus"};
    kinds.insert(kinds.end(), kTorchKinds.begin(), kTorchKinds.end());
    return report(unknown_name("kind", kind, kinds));
  }
  return kExitDone;
}

}  // namespace kedge::cli
