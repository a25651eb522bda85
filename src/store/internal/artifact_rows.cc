#include "store/internal/artifact_rows.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "store/internal/artifact_draft.h"

namespace kedge::store {
namespace {

constexpr std::string_view kSelectArtifactVersion =
    "SELECT v.id, a.project, a.name, a.type, v.version, v.digest, v.description, v.metadata,"
    " v.size, v.file_count, v.created_us, v.made_in, v.made_by"
    " FROM artifact_versions v JOIN artifacts a ON a.id = v.artifact"
    " WHERE a.project = $1 AND a.name = $2";

StoredVersion read_artifact_version(const SqlRow& row) {
  StoredVersion found{.id = row.integer(0),
                      .version = {.project = row.string(1),
                                  .name = row.string(2),
                                  .type = row.string(3),
                                  .version = row.integer(4),
                                  .digest = row.string(5),
                                  .description = row.string(6),
                                  .metadata = nlohmann::json::parse(row.text(7), nullptr, false),
                                  .aliases = {},
                                  .size = row.count(8),
                                  .file_count = row.count(9),
                                  .created_us = row.integer(10),
                                  .made_by = {}}};
  if (!row.text(12).empty()) {
    found.version.made_by = RunKey{.project = row.string(11), .id = row.string(12)};
  }
  return found;
}

Result<void> add_version_aliases(Database& database, StoredVersion& stored) {
  stored.version.aliases = KEDGE_TRY(
      database.list("SELECT alias FROM artifact_aliases WHERE version = $1 ORDER BY alias",
                    {stored.id}, first_text));
  const std::int64_t newer = KEDGE_TRY(database.query_integer(
      "SELECT COUNT(*) FROM artifact_versions v JOIN artifact_versions mine"
      " ON mine.artifact = v.artifact WHERE mine.id = $1 AND v.version > mine.version",
      {stored.id}));
  if (newer == 0) {
    stored.version.aliases.emplace_back("latest");
  }
  return {};
}

Error unknown_version(Database& database, const std::string& project, const std::string& name,
                      const std::string& word) {
  const auto found = read_versions(database, project, name);
  if (!found) {
    return found.error();
  }
  if (found->empty()) {
    return {.kind = ErrorKind::NotFound,
            .message = fmt::format("no artifact '{}' in project '{}'", name, project)};
  }
  constexpr std::size_t kShown = 12;
  std::vector<std::string> known;
  for (auto stored = found->rbegin(); stored != found->rend() && known.size() < kShown; ++stored) {
    known.push_back(fmt::format("v{}", stored->version.version));
    known.insert(known.end(), stored->version.aliases.begin(), stored->version.aliases.end());
  }
  return {.kind = ErrorKind::NotFound,
          .message = fmt::format("artifact '{}' has no version or alias '{}'", name, word),
          .hint = fmt::format("it has {}", fmt::join(known, ", "))};
}

}  // namespace

Result<std::vector<StoredVersion>> read_versions(Database& database, const std::string& project,
                                                 const std::string& name) {
  auto found = KEDGE_TRY(database.list(fmt::format("{} ORDER BY v.version", kSelectArtifactVersion),
                                       {project, name}, read_artifact_version));
  KEDGE_TRY(database.query(
      "SELECT l.version, l.alias FROM artifact_aliases l JOIN artifacts a ON a.id = l.artifact"
      " WHERE a.project = $1 AND a.name = $2 ORDER BY l.alias",
      {project, name}, [&](const SqlRow& row) -> Result<void> {
        const auto owner = std::ranges::find(found, row.integer(0), &StoredVersion::id);
        if (owner != found.end()) {
          owner->version.aliases.push_back(row.string(1));
        }
        return {};
      }));
  if (!found.empty()) {
    found.back().version.aliases.emplace_back("latest");
  }
  return found;
}

Result<StoredVersion> find_version(Database& database, const std::string& project,
                                   const std::string& name, const std::string& word) {
  const std::optional<std::int64_t> number = parse_version(word);
  const auto find = [&](std::string_view condition, std::initializer_list<SqlValue> values) {
    return database.find(fmt::format("{}{}", kSelectArtifactVersion, condition), values,
                         read_artifact_version);
  };
  auto found =
      KEDGE_TRY(number             ? find(" AND v.version = $3", {project, name, *number})
                : word == "latest" ? find(" ORDER BY v.version DESC LIMIT 1", {project, name})
                                   : find(" AND v.id = (SELECT l.version FROM artifact_aliases l"
                                          " WHERE l.artifact = a.id AND l.alias = $3)",
                                          {project, name, word}));
  if (!found) {
    return std::unexpected(unknown_version(database, project, name, word));
  }
  KEDGE_TRY(add_version_aliases(database, *found));
  return std::move(*found);
}

}  // namespace kedge::store
