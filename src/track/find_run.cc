#include "track/find_run.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/file.h"
#include "core/log.h"
#include "core/result.h"
#include "track/internal/holder_watch.h"
#include "track/internal/identity.h"
#include "track/internal/json_text.h"
#include "track/names.h"

namespace kedge::track {
namespace {

struct Description {
  std::string state;
  std::string config_hash;
  std::string created;
};

// Nothing, and a warning, when the folder is no run.
std::optional<Description> try_read_description(const Path& run) {
  const auto text = read_file(run / "run.json");
  if (!text) {
    warn("{} is skipped: {}", run.string(), text.error().message);
    return std::nullopt;
  }
  const auto json = nlohmann::json::parse(*text, nullptr, false);
  if (!json.is_object() || text_of(json, "format") != "kedge-run") {
    warn("{} is skipped: its run.json does not describe a run", run.string());
    return std::nullopt;
  }
  return Description{text_of(json, "state"), text_of(json, "config_hash"),
                     text_of(json, "created")};
}

struct Candidate {
  std::string created;  // UTC, ISO 8601
  Path path;
};

bool is_wanted(const Description& description, const RunQuery& query) {
  return description.state != name_of(RunState::Finished) &&
         description.config_hash == query.config_hash;
}

// Newest first.
Result<std::vector<Candidate>> list_candidates(const RunQuery& query) {
  const Path project = query.dir / query.project;
  std::vector<Candidate> candidates;
  std::error_code error;
  std::filesystem::directory_iterator entry(project, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    std::error_code ignored;
    if (entry->path().filename().string().starts_with('.') || !entry->is_directory(ignored)) {
      continue;
    }
    const auto description = try_read_description(entry->path());
    if (description && is_wanted(*description, query)) {
      candidates.push_back({description->created, entry->path()});
    }
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    return std::unexpected(io_error("cannot read folder", project, error.value()));
  }
  // Made-up ids of the same second are in no order; any one will do, but always the same.
  std::ranges::sort(candidates, [](const Candidate& a, const Candidate& b) {
    return std::tie(a.created, a.path) > std::tie(b.created, b.path);
  });
  return candidates;
}

}  // namespace

Result<std::optional<Path>> find_run(const RunQuery& query, const TakeOptions& options) {
  KEDGE_TRY(check_folder_name("run.project", query.project));
  if (!query.id.empty()) {
    KEDGE_TRY(check_folder_name("run.id", query.id));
    const Path run = query.dir / query.project / query.id;
    std::error_code ignored;
    return std::filesystem::exists(run / "run.json", ignored) ? std::optional(run) : std::nullopt;
  }
  if (query.config_hash.empty()) {
    return std::nullopt;
  }
  const auto candidates = KEDGE_TRY(list_candidates(query));
  const ProcessIdentity here = identify_this_process();
  // All that are newer than the first one nobody holds: one of them may turn out to be free.
  std::vector<HolderWatch> watches;
  for (const Candidate& candidate : candidates) {
    watches.push_back(KEDGE_TRY(HolderWatch::begin(candidate.path, here)));
    if (watches.back().life() == Life::Dead) {
      break;
    }
  }
  KEDGE_TRY(resolve_holders(watches, options));
  const auto free = std::ranges::find(watches, Life::Dead, &HolderWatch::life);
  if (free == watches.end()) {
    return std::nullopt;
  }
  return candidates[static_cast<std::size_t>(free - watches.begin())].path;
}

}  // namespace kedge::track
