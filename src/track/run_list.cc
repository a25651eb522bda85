#include "track/run_list.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/file.h"
#include "core/log.h"
#include "core/nearest.h"
#include "core/result.h"
#include "track/attempt.h"
#include "track/event_log.h"
#include "track/internal/attempt_file.h"
#include "track/internal/json_text.h"

namespace kedge::track {
namespace {

Result<std::vector<Path>> list_folders(const Path& folder) {
  std::vector<Path> folders;
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    std::error_code ignored;
    if (!entry->path().filename().string().starts_with('.') && entry->is_directory(ignored)) {
      folders.push_back(entry->path());
    }
  }
  if (error) {
    return std::unexpected(io_error("cannot read folder", folder, error.value()));
  }
  return folders;
}

// The highest step among the values of the newest attempt that has any.
std::optional<std::int64_t> find_last_step(const Path& run, int attempts) {
  for (int attempt = attempts; attempt > 0; --attempt) {
    auto reader = EventLogReader::open(run / fmt::format("events-a{}-r0.klog", attempt));
    std::optional<std::int64_t> last;
    while (reader) {
      const auto record = reader->next();
      if (!record || !*record) {
        break;
      }
      const nlohmann::json& json = **record;
      if (json.is_object() && text_of(json, "type") == "scalars" && json.contains("step") &&
          json["step"].is_number_integer()) {
        last = std::max(last.value_or(0), json["step"].get<std::int64_t>());
      }
    }
    if (last) {
      return last;
    }
  }
  return std::nullopt;
}

// What the summary of run.json says under "best"; other programs may have something else there.
std::optional<BestValue> find_best(const nlohmann::json& run) {
  const auto summary = run.find("summary");
  if (summary == run.end() || !summary->is_object() || !summary->contains("best")) {
    return std::nullopt;
  }
  const nlohmann::json& best = (*summary)["best"];
  if (!best.is_object() || !best.contains("value") || !best["value"].is_number()) {
    return std::nullopt;
  }
  return BestValue{text_of(best, "metric"), best["value"].get<double>(),
                   best.contains("epoch") && best["epoch"].is_number_integer()
                       ? best["epoch"].get<std::int64_t>()
                       : 0};
}

std::optional<RunSummary> read_summary(const Path& run) {
  const auto text = read_file(run / "run.json");
  if (!text) {
    return std::nullopt;
  }
  const auto json = nlohmann::json::parse(*text, nullptr, false);
  if (!json.is_object() || text_of(json, "format") != "kedge-run") {
    warn("{} is skipped: its run.json does not describe a run", run.string());
    return std::nullopt;
  }
  RunSummary summary{.id = text_of(json, "id"),
                     .name = text_of(json, "name"),
                     .project = text_of(json, "project"),
                     .state = text_of(json, "state"),
                     .attempts = 1,
                     .created_us = static_cast<std::int64_t>(
                         parse_utc(text_of(json, "created")).value_or(0) * 1e6),
                     .best = find_best(json),
                     .path = run};
  if (const auto tags = json.find("tags"); tags != json.end() && tags->is_array()) {
    for (const nlohmann::json& tag : *tags) {
      summary.tags.push_back(tag.is_string() ? tag.get<std::string>() : tag.dump());
    }
  }
  // 0 is also what a run says that has logged nothing: its log knows.
  if (const auto step = json.find("last_step");
      step != json.end() && step->is_number_integer() && *step > 0) {
    summary.last_step = step->get<std::int64_t>();
  }
  const auto attempts = list_attempts(run);
  if (!attempts.empty()) {
    summary.attempts = attempts.back().number;
  }
  if (summary.state == name_of(RunState::Running)) {
    summary.state = attempts.empty() ? "killed" : attempts.back().state;
  }
  return summary;
}

}  // namespace

Result<std::vector<RunSummary>> list_runs(const Path& dir) {
  std::vector<RunSummary> runs;
  for (const Path& project : KEDGE_TRY(list_folders(dir))) {
    for (const Path& run : KEDGE_TRY(list_folders(project))) {
      if (auto summary = read_summary(run)) {
        if (!summary->last_step) {
          summary->last_step = find_last_step(run, summary->attempts);
        }
        runs.push_back(std::move(*summary));
      }
    }
  }
  std::ranges::sort(runs, [](const RunSummary& a, const RunSummary& b) {
    return std::tie(a.created_us, a.path) < std::tie(b.created_us, b.path);
  });
  return runs;
}

Result<Path> find_run_folder(const std::string& word, const Path& dir) {
  std::error_code ignored;
  for (const Path& run : {Path(word), dir / word}) {
    if (std::filesystem::exists(run / "run.json", ignored)) {
      return run;
    }
  }
  std::vector<std::string> known;
  std::vector<Path> found;
  const auto projects = list_folders(dir);
  for (const Path& project : projects ? *projects : std::vector<Path>()) {
    for (const Path& run : KEDGE_TRY(list_folders(project))) {
      const auto summary = read_summary(run);
      if (!summary) {
        continue;
      }
      known.push_back(summary->id);
      known.push_back(summary->name);
      if (summary->id == word || summary->name == word) {
        found.push_back(run);
      }
    }
  }
  if (found.size() > 1) {
    return fail(ErrorKind::Usage, fmt::format("{} runs are called '{}'", found.size(), word),
                "give the folder of one of them, for example " + found.back().string());
  }
  if (found.empty()) {
    const std::string near = nearest_name(word, known);
    return fail(ErrorKind::NotFound,
                fmt::format("there is no run '{}' in {}{}", word, dir.string(),
                            near.empty() ? "" : fmt::format("; did you mean '{}'?", near)),
                "`kedge runs ls` shows the runs there are");
  }
  return found.front();
}

}  // namespace kedge::track
