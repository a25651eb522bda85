#include "store/internal/project_table.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/result.h"
#include "core/utf8.h"
#include "store/internal/text.h"

namespace kedge::store {
namespace {

Result<Project> read_project(const SqlRow& row) {
  const nlohmann::json labels = KEDGE_TRY(parse_json(row.text(2)));
  return Project{.id = row.integer(0),
                 .name = row.string(1),
                 .labels = labels.get<std::map<std::string, std::string>>(),
                 .artifact_root = row.string(3),
                 .created_us = row.integer(4),
                 .changed_us = row.integer(5),
                 .deleted_us = row.integer(6)};
}

Result<void> add_default(Database& database, std::int64_t now_us) {
  const auto insert = [&](std::string_view name) {
    return database.run(
        "INSERT INTO projects (id, name, created_us, changed_us) SELECT $1, $2, $3, $3 "
        "WHERE NOT EXISTS (SELECT 1 FROM projects WHERE id = $1 OR name = $2)",
        {kDefaultProject, name, now_us});
  };
  KEDGE_TRY(insert(kDefaultProjectName));
  return insert("Default project");  // somebody's own has the name
}

}  // namespace

Result<void> check_project_name(const std::string& name) {
  constexpr std::size_t kMaxCharacters = 500;
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; };
  const std::size_t length = count_characters(name);
  if (length > 0 && length <= kMaxCharacters && name != "." && name != ".." && is_utf8(name) &&
      std::ranges::none_of(name, is_control)) {
    return {};
  }
  return fail(
      ErrorKind::Usage,
      fmt::format("'{}' cannot be a project's name", make_valid_text(name.substr(0, 100))),
      fmt::format("use 1 to {} characters, none of them control characters", kMaxCharacters));
}

Result<void> ProjectTable::load(Database& database, std::int64_t now_us) {
  KEDGE_TRY(add_default(database, now_us));
  std::map<std::int64_t, Project> projects;
  KEDGE_TRY(database.query(
      "SELECT id, name, labels, artifact_root, created_us, changed_us, deleted_us FROM projects",
      {}, [&](const SqlRow& row) -> Result<void> {
        Project project = KEDGE_TRY(read_project(row));
        projects.emplace(project.id, std::move(project));
        return {};
      }));
  const std::lock_guard lock(mutex_);
  ids_.clear();
  for (const auto& [id, project] : projects) {
    ids_[project.name] = id;
  }
  projects_ = std::move(projects);
  return {};
}

std::optional<Project> ProjectTable::find(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = ids_.find(name);
  return found == ids_.end() ? std::nullopt : std::optional(projects_.at(found->second));
}

std::optional<Project> ProjectTable::find(std::int64_t id) const {
  const std::lock_guard lock(mutex_);
  const auto found = projects_.find(id);
  return found == projects_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<Project> ProjectTable::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<Project> all;
  all.reserve(projects_.size());
  for (const auto& [id, project] : projects_) {
    all.push_back(project);
  }
  return all;
}

Result<Project> ProjectTable::add(Database& database, const ProjectDraft& draft,
                                  std::int64_t now_us) {
  KEDGE_TRY(check_project_name(draft.name));
  Project project{.name = draft.name,
                  .labels = draft.labels,
                  .artifact_root = draft.artifact_root,
                  .created_us = now_us,
                  .changed_us = now_us};
  project.id = KEDGE_TRY(database.query_integer(
      "INSERT INTO projects (name, labels, artifact_root, created_us, changed_us) "
      "VALUES ($1, $2, $3, $4, $4) RETURNING id",
      {project.name, render_json(project.labels), project.artifact_root, now_us}));
  const std::lock_guard lock(mutex_);
  ids_[project.name] = project.id;
  projects_[project.id] = project;
  return project;
}

Result<void> ProjectTable::update(Database& database, const Project& project) {
  KEDGE_TRY(database.run(
      "UPDATE projects SET name = $2, labels = $3, artifact_root = $4, changed_us = $5,"
      " deleted_us = $6 WHERE id = $1",
      {project.id, project.name, render_json(project.labels), project.artifact_root,
       project.changed_us, project.deleted_us}));
  const std::lock_guard lock(mutex_);
  std::erase_if(ids_, [&](const auto& entry) { return entry.second == project.id; });
  ids_[project.name] = project.id;
  projects_[project.id] = project;
  return {};
}

}  // namespace kedge::store
