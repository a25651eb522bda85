// `kedge runs ls --server`: the runs of a tracking server, picked by its query language.
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/runs.h"
#include "cli/server_calls.h"
#include "cli/shared/text_table.h"

namespace kedge::cli {
namespace {

// The value of "config.optimizer.lr" or "summary.val/accuracy" in a run of an answer, where both
// objects are flat.
std::string field_of(const nlohmann::json& run, const std::string& field) {
  for (const char* part : {"config", "summary"}) {
    const auto found = run.at(part).find(field);
    if (found != run.at(part).end()) {
      const nlohmann::json& value =
          found->is_object() ? found->value("last", nlohmann::json()) : *found;
      return value.is_string() ? value.get<std::string>() : value.dump();
    }
  }
  return "-";
}

}  // namespace

Result<void> list_server_runs(const std::string& url, const Arguments& arguments) {
  ServerCalls server = KEDGE_TRY(ServerCalls::open(url, arguments));
  const std::vector<std::string> fields = arguments.values("--field");
  const nlohmann::json search = {{"project", arguments.value("--project")},
                                 {"filter", arguments.value("--filter")},
                                 {"order", arguments.values("--order")},
                                 {"limit", KEDGE_TRY(arguments.number("--limit", 100))},
                                 {"fields", fields}};
  const nlohmann::json answer = KEDGE_TRY(server.send("POST", "/api/v1/runs/search", search));
  if (arguments.has("--json")) {
    fmt::print("{}\n", answer.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
    return {};
  }
  std::vector<std::vector<std::string>> rows = {{"RUN", "NAME", "STATE", "STEP"}};
  rows.front().insert(rows.front().end(), fields.begin(), fields.end());
  for (const nlohmann::json& run : answer["runs"]) {
    rows.push_back(
        {fmt::format("{}/{}", run["project"].get<std::string>(), run["id"].get<std::string>()),
         run["name"], run["state"], run["last_step"].is_null() ? "-" : run["last_step"].dump()});
    for (const std::string& field : fields) {
      rows.back().push_back(field_of(run, field));
    }
  }
  fmt::print("{}", render_table(rows));
  const auto total = answer["total"].get<std::size_t>();
  if (total + 1 > rows.size()) {
    fmt::print(stderr, "{} of {} runs; --limit shows more\n", rows.size() - 1, total);
  }
  return {};
}

}  // namespace kedge::cli
