// `kedge runs ls --server`: the runs of a tracking server, picked by its query language.
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/runs.h"
#include "cli/server_calls.h"
#include "cli/shared/json_output.h"
#include "cli/shared/text_table.h"

namespace kedge::cli {
namespace {

// The value of "config.optimizer.lr", "summary.val/accuracy" or "val/accuracy" in a run of an
// answer to a search with fields, whose config and summary are flat.
std::string field_of(const nlohmann::json& run, std::string field) {
  const bool is_config = field.starts_with("config.");
  for (const std::string_view prefix : {"config.", "summary."}) {
    if (field.starts_with(prefix)) {
      field.erase(0, prefix.size());
      break;
    }
  }
  std::string part = "last";
  for (const std::string_view name : {"last", "min", "max", "count", "last_step"}) {
    if (!is_config && field.ends_with(fmt::format(".{}", name))) {
      part = name;
      field.resize(field.size() - part.size() - 1);
      break;
    }
  }
  const nlohmann::json& values = run.at(is_config ? "config" : "summary");
  const auto found = values.find(field);
  if (found == values.end()) {
    return "-";
  }
  const nlohmann::json& value =
      found->is_object() && found->contains(part) ? found->at(part) : *found;
  return value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace

Result<void> list_server_runs(const std::string& url, const Arguments& arguments) {
  ServerCalls server = KEDGE_TRY(ServerCalls::open(url, arguments));
  const std::vector<std::string> fields = arguments.values("--field");
  const nlohmann::json search = {{"project", arguments.value("--project")},
                                 {"filter", arguments.value("--filter")},
                                 {"order", arguments.values("--order")},
                                 {"limit", KEDGE_TRY(arguments.number("--limit", 100))},
                                 {"fields", fields},
                                 {"trash", arguments.has("--trash")}};
  const nlohmann::json answer = KEDGE_TRY(server.send("POST", "/api/v1/runs/search", search));
  if (arguments.has("--json")) {
    print_json(answer);
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
