// Which runs a request is about, as all calls that search write it.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "server/api.h"

namespace kedge::server {
namespace {

constexpr std::size_t kMaxRuns = 10'000;

// A key for one project asks about it, whether it says so or not, and is told of no other.
Result<void> confine(store::Search& search, const Caller& caller) {
  if (caller.project.empty()) {
    return {};
  }
  if (!search.projects.empty()) {
    KEDGE_TRY(check_project(caller, search.projects.front(), caller.run));
  }
  search.projects = {caller.project};
  search.run = caller.run;
  return {};
}

}  // namespace

Result<store::Search> parse_search(const nlohmann::json& json, const Caller& caller) {
  store::Search search;
  if (const auto project = KEDGE_TRY(find_text(json, "project")); project && !project->empty()) {
    search.projects = {*project};
  }
  if (const auto trash = json.find("trash"); trash != json.end()) {
    if (!trash->is_boolean()) {
      return fail(ErrorKind::Usage, "'trash' must be true or false");
    }
    search.shown = trash->get<bool>() ? store::Shown::Trash : store::Shown::Active;
  }
  search.filter = KEDGE_TRY(find_text(json, "filter")).value_or("");
  search.order = KEDGE_TRY(find_texts(json, "order")).value_or(std::vector<std::string>());
  const std::int64_t limit = KEDGE_TRY(find_integer(json, "limit")).value_or(100);
  const std::int64_t offset = KEDGE_TRY(find_integer(json, "offset")).value_or(0);
  if (limit < 0 || offset < 0 || static_cast<std::size_t>(limit) > kMaxRuns) {
    return fail(ErrorKind::Usage, fmt::format("limit is 0 to {}, offset 0 or more", kMaxRuns));
  }
  search.limit = static_cast<std::size_t>(limit);
  search.offset = static_cast<std::size_t>(offset);
  KEDGE_TRY(confine(search, caller));
  return search;
}

Result<std::string> project_of(const Request& request) {
  const Caller& caller = request.caller;
  const std::string project(request.query_value("project").value_or(caller.project));
  KEDGE_TRY(check_project(caller, project, caller.run));
  return project;
}

}  // namespace kedge::server
