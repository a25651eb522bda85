#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.h"
#include "store/internal/database.h"
#include "store/internal/store_parts.h"
#include "store/internal/text.h"
#include "store/store.h"

namespace kedge::store {
namespace {

// Tables that name projects, apart from that of the projects.
Result<void> rename_everywhere(Database& database, const std::string& from, const std::string& to) {
  for (const std::string_view sql : std::to_array<std::string_view>(
           {"UPDATE artifacts SET project = $2 WHERE project = $1",
            "UPDATE artifact_versions SET made_in = $2 WHERE made_in = $1",
            "UPDATE artifact_uses SET project = $2 WHERE project = $1",
            "UPDATE artifact_drafts SET project = $2 WHERE project = $1",
            "UPDATE artifact_drafts SET made_in = $2 WHERE made_in = $1",
            "UPDATE portfolios SET project = $2 WHERE project = $1",
            "UPDATE collection_tags SET project = $2 WHERE project = $1",
            "UPDATE hosted_sweeps SET project = $2 WHERE project = $1",
            "UPDATE views SET project = $2 WHERE project = $1",
            "UPDATE grants SET project = $2 WHERE project = $1"})) {
    KEDGE_TRY(database.run(sql, {from, to}));
  }
  return {};
}

std::unexpected<Error> name_is_taken(const Project& project) {
  return fail(ErrorKind::Usage, fmt::format("there is a project '{}'{}", project.name,
                                            project.deleted_us != 0 ? " in the trash" : ""));
}

void set_fields(Project& project, const ProjectPatch& patch, std::int64_t now_us) {
  for (const auto& [name, text] : patch.labels) {
    if (text) {
      project.labels[make_valid_text(name)] = make_valid_text(*text);
    } else {
      project.labels.erase(name);
    }
  }
  project.name = patch.name.value_or(project.name);
  project.artifact_root = patch.artifact_root.value_or(project.artifact_root);
  project.deleted_us = patch.deleted_us.value_or(project.deleted_us);
  project.changed_us = now_us;
}

}  // namespace

std::vector<Project> Store::list_projects() const {
  std::vector<Project> projects = impl_->projects.all();
  std::map<std::string_view, Project*> by_name;
  for (Project& project : projects) {
    by_name[project.name] = &project;
  }
  for (const auto& block : impl_->index.snapshot()) {
    for (const EntryPointer& entry : block->entries) {
      const auto found = entry == nullptr ? by_name.end() : by_name.find(entry->facts.project);
      if (found == by_name.end()) {
        continue;
      }
      Project& project = *found->second;
      const RunFacts& facts = entry->facts;
      if ((facts.deleted_us != 0) != (project.deleted_us != 0)) {
        continue;
      }
      ++project.run_count;
      project.running_count += facts.state == RunState::Running ? 1 : 0;
      project.last_us =
          std::max({project.last_us, facts.created_us, facts.heartbeat_us, facts.ended_us});
    }
  }
  return projects;
}

std::optional<Project> Store::find_project(const std::string& name) const {
  return impl_->projects.find(name);
}

std::optional<Project> Store::find_project(std::int64_t id) const {
  return impl_->projects.find(id);
}

Result<Project> Store::create_project(const ProjectDraft& draft, std::int64_t now_us) {
  Project project;
  KEDGE_TRY(impl_->writer->run([&](Database& database) -> Result<void> {
    if (const auto found = impl_->projects.find(draft.name)) {
      return name_is_taken(*found);
    }
    ++impl_->change_count;
    project = KEDGE_TRY(impl_->projects.add(database, draft, now_us));
    return {};
  }));
  return project;
}

Result<Project> Store::patch_project(std::int64_t id, const ProjectPatch& patch,
                                     std::int64_t now_us) {
  Project changed;
  KEDGE_TRY(impl_->writer->run([&](Database& database) -> Result<void> {
    const auto found = impl_->projects.find(id);
    if (!found) {
      return fail(ErrorKind::NotFound, fmt::format("there is no project number {}", id));
    }
    changed = *found;
    set_fields(changed, patch, now_us);
    const bool is_renamed = changed.name != found->name;
    if (is_renamed) {
      KEDGE_TRY(check_project_name(changed.name));
      if (const auto other = impl_->projects.find(changed.name)) {
        return name_is_taken(*other);
      }
      KEDGE_TRY(rename_everywhere(database, found->name, changed.name));
    }
    if (patch.deleted_us) {
      KEDGE_TRY(database.run("UPDATE runs SET deleted_us = $2 WHERE project_id = $1",
                             {id, *patch.deleted_us}));
    }
    KEDGE_TRY(impl_->projects.update(database, changed));
    impl_->edit_project(found->name,
                        [name = changed.name, trash = patch.deleted_us](RunFacts& run) {
                          run.project = name;
                          run.deleted_us = trash.value_or(run.deleted_us);
                        });
    return {};
  }));
  return changed;
}

}  // namespace kedge::store
