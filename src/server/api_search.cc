// Which runs a request is about, as all calls that search write it.
#include <cstddef>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "server/internal/routes.h"

namespace kedge::server {
namespace {

// A key for one project asks about it, whether it says so or not, and is told of no other.
Result<void> confine(store::Search& search, const http::Caller& caller) {
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

Result<store::Search> search_of(const Input& input, const http::Caller& caller) {
  store::Search search;
  if (const std::string project = input.at("project"); !project.empty()) {
    search.projects = {project};
  }
  search.shown = input.value("trash", false) ? store::Shown::Trash : store::Shown::Active;
  search.filter = input.at("filter");
  search.order = input.value("order", std::vector<std::string>());
  search.limit = input.at("limit");
  search.offset = input.value("offset", std::size_t{0});
  KEDGE_TRY(confine(search, caller));
  return search;
}

Result<std::string> project_of(const http::Request& request, const Input& input) {
  const http::Caller& caller = request.caller;
  const std::string project = input.value("project", caller.project);
  KEDGE_TRY(check_project(caller, project, caller.run));
  return project;
}

}  // namespace kedge::server
