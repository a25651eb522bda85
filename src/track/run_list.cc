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
                     .created = text_of(json, "created"),
                     .path = run};
  if (const auto step = json.find("last_step"); step != json.end() && step->is_number_integer()) {
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
    return std::tie(a.created, a.path) < std::tie(b.created, b.path);
  });
  return runs;
}

Result<Path> find_run_folder(const std::string& word, const Path& dir) {
  std::error_code ignored;
  if (std::filesystem::exists(Path(word) / "run.json", ignored)) {
    return Path(word);
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
