// All projects in memory: there are few, and every run is asked for its project's number. The
// writer changes it within a transaction and reads it anew when that is rolled back.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "store/internal/database.h"
#include "store/run.h"

namespace kedge::store {

class ProjectTable {
 public:
  // What the database says; makes the default project when it is not there.
  Result<void> load(Database& database, std::int64_t now_us);

  std::optional<Project> find(const std::string& name) const;
  std::optional<Project> find(std::int64_t id) const;
  std::vector<Project> all() const;  // in order of their numbers

  // Returns it with its number.
  Result<Project> add(Database& database, const ProjectDraft& draft, std::int64_t now_us);
  Result<void> update(Database& database, const Project& project);

 private:
  mutable std::mutex mutex_;
  std::map<std::int64_t, Project> projects_;
  std::map<std::string, std::int64_t> ids_;
};

// 1 to 500 characters, none of them a control character.
Result<void> check_project_name(const std::string& name);

}  // namespace kedge::store
