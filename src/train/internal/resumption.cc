#include "train/internal/resumption.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "config/diff.h"
#include "core/log.h"
#include "track/find_run.h"
#include "train/internal/checkpoints.h"
#include "train/plugins.h"

namespace kedge::train {
namespace {

Result<std::vector<track::ConfigChange>> check_changes(const checkpoint::Newest& newest,
                                                       const config::LoadedConfig& config) {
  std::vector<track::ConfigChange> changes;
  const nlohmann::json& state = newest.checkpoint->state();
  if (!state.contains("config") || !state["config"].is_string()) {
    return fail(ErrorKind::Corrupt,
                fmt::format("{} does not hold a kedge training", newest.entry.path.string()));
  }
  const auto unread = find_unread_keys(config);
  std::string refused;
  for (auto& change : KEDGE_TRY(config::find_changes(state["config"].get<std::string>(), config))) {
    if (change.key == "resume") {
      continue;
    }
    if (const std::string_view why = config.find(change.key)->fixed.why; !why.empty()) {
      refused += fmt::format("\n  {}: {} -> {}: {}", change.key, change.before, change.after, why);
    }
    const auto found = std::ranges::find(unread, change.key, &config::UnreadKey::path);
    if (found != unread.end() && !found->is_overruled) {
      refused += "\n  " + found->message;
    }
    changes.push_back({std::move(change.key), std::move(change.before), std::move(change.after)});
  }
  if (!refused.empty()) {
    return fail(ErrorKind::Usage, fmt::format("the run cannot go on with this config:{}", refused),
                fmt::format("set it back, or start a new run from its weights: resume=never "
                            "model.weights={} and another run.id",
                            newest.entry.path.string()));
  }
  return changes;
}

// A run that was killed between its last checkpoint and its last word is not finished.
bool is_finished(const Path& run, const config::Config& config, const checkpoint::Entry& newest) {
  const auto attempts = track::list_attempts(run);
  const bool is_trained = newest.epoch >= config.train.epochs ||
                          (config.train.max_steps > 0 && newest.step >= config.train.max_steps);
  return is_trained && !attempts.empty() && attempts.back().state == "finished";
}

Result<void> open_newest(const config::LoadedConfig& config,
                         std::optional<checkpoint::Newest> in_memory, Resumption& resumption) {
  resumption.newest = in_memory ? std::move(*in_memory)
                                : KEDGE_TRY(checkpoint::open_newest(
                                      checkpoint_folders(*config, resumption.attempt.run())));
  if (resumption.newest.checkpoint) {
    resumption.changes = KEDGE_TRY(check_changes(resumption.newest, config));
  }
  return {};
}

}  // namespace

Result<RunPlan> plan_run(const config::LoadedConfig& config, const StopSignals& signals) {
  if (config->resume == config::Resume::Never) {
    return RunPlan{};
  }
  const track::TakeOptions take = {
      .on_wait = [](std::string_view line) { print_line(line); },
      .should_stop = [&signals] { return signals.requested().has_value(); }};
  const auto search = track::find_run({.dir = config->track.dir,
                                       .project = config->run.project,
                                       .id = config->run.id,
                                       .config_hash = config.hash()},
                                      take);
  if (!search) {
    Error error = search.error();
    if (error.kind == ErrorKind::Io && error.hint.empty()) {
      error.hint = "choose another folder for runs with track.dir=PATH";
    }
    return std::unexpected(std::move(error));
  }
  const std::optional<Path>& found = *search;
  if (!found && config->resume == config::Resume::Must) {
    return fail(
        ErrorKind::Usage,
        fmt::format("resume is 'must', but {}/{} has no {}", config->track.dir, config->run.project,
                    config->run.id.empty() ? "unfinished run of this config"
                                           : fmt::format("run '{}'", config->run.id)),
        "name the run with run.id, or allow a new one with resume=auto");
  }
  if (!found) {
    return RunPlan{};
  }
  const checkpoint::Folders folders = checkpoint_folders(*config, *found);
  const checkpoint::Listing listing = KEDGE_TRY(checkpoint::list_checkpoints(folders));
  if (!listing.entries.empty() && is_finished(*found, *config, listing.entries.back())) {
    return RunPlan{.resumption = std::nullopt, .finished = listing.entries.back()};
  }
  RunPlan plan{.resumption = Resumption{.attempt = KEDGE_TRY(track::Attempt::take(*found, take)),
                                        .on_disk = {},
                                        .newest = {},
                                        .changes = {}},
               .finished = std::nullopt};
  if (!listing.entries.empty()) {
    const checkpoint::Entry& newest = listing.entries.back();
    plan.resumption->on_disk = {.step = newest.step, .epoch = newest.epoch};
  }
  return plan;
}

Result<void> open_saved(const config::LoadedConfig& config, dist::ProcessGroup& group,
                        RunPlan& plan) {
  std::string key;
  SavedPlace on_disk;
  if (plan.resumption) {
    key = replica_key(plan.resumption->attempt.run());
    on_disk = plan.resumption->on_disk;
  }
  std::optional<checkpoint::Newest> in_memory;
  if (config->dist.replicas != "never" && !(key = dist::broadcast_text(group, key)).empty()) {
    in_memory = find_newest_replica(group, key, on_disk);
  }
  if (!plan.resumption) {
    return {};
  }
  if (auto opened = open_newest(config, std::move(in_memory), *plan.resumption); !opened) {
    static_cast<void>(plan.resumption->attempt.end(track::RunState::Interrupted));
    return std::unexpected(std::move(opened).error());
  }
  return {};
}

}  // namespace kedge::train
