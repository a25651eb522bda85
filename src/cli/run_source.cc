#include "cli/run_source.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/run_folders.h"
#include "cli/server_calls.h"
#include "core/url.h"

namespace kedge::cli {
namespace {

// Where a training's summary has its best value, as JSON text.
const std::string kBest = "best";

class ServerRuns : public RunSource {
 public:
  explicit ServerRuns(ServerCalls server) : server_(std::move(server)) {}

  Result<nlohmann::json> search(const RunQuery& query) override {
    nlohmann::json answer = KEDGE_TRY(server_.send("POST", "/api/v1/runs/search",
                                                   {{"project", query.project},
                                                    {"filter", query.filter},
                                                    {"order", query.order},
                                                    {"limit", query.limit},
                                                    {"fields", fields_with_best(query)},
                                                    {"trash", query.is_trash}}));
    lift_best(answer, query);
    return answer;
  }

  Result<nlohmann::json> load(const std::string& word) override {
    const std::string path = KEDGE_TRY(path_of(word));
    nlohmann::json json = KEDGE_TRY(server_.fetch(path));
    json["attempts"] = KEDGE_TRY(server_.fetch(path + "/attempts")).at("attempts");
    return json;
  }

  Result<std::vector<std::string>> tag(const std::string& word, const Retag& retag) override {
    const std::string path = KEDGE_TRY(path_of(word));
    auto tags = retag(KEDGE_TRY(server_.fetch(path)).at("tags").get<std::vector<std::string>>());
    KEDGE_TRY(server_.send("PATCH", path, {{"tags", tags}}));
    return tags;
  }

  bool has_trash() const override { return true; }

  Result<void> restore(const std::string& word) override {
    const std::string path = KEDGE_TRY(path_of(word));
    if (KEDGE_TRY(server_.fetch(path)).value("deleted_us", nlohmann::json()).is_null()) {
      return fail(ErrorKind::Usage, fmt::format("run '{}' is not in the trash", word),
                  "kedge runs ls --trash lists what is");
    }
    KEDGE_TRY(server_.send("PATCH", path, {{"deleted_us", 0}}));
    return {};
  }

  Result<void> remove(const std::string& word, bool is_for_good) override {
    const std::string path = KEDGE_TRY(path_of(word));
    if (KEDGE_TRY(server_.fetch(path)).at("state") == "running") {
      return fail(ErrorKind::Usage, fmt::format("run '{}' is running", word), "stop it first");
    }
    KEDGE_TRY(server_.send("DELETE", path + (is_for_good ? "?for_good=1" : ""), nullptr));
    return {};
  }

 private:
  static Result<std::string> path_of(const std::string& word) {
    const std::size_t slash = word.find('/');
    if (slash == std::string::npos || slash == 0 || slash + 1 == word.size()) {
      return fail(ErrorKind::Usage, fmt::format("'{}' names no run of a server", word),
                  "write PROJECT/ID");
    }
    return fmt::format("/api/v1/runs/{}/{}", encode_url_part(word.substr(0, slash)),
                       encode_url_part(word.substr(slash + 1)));
  }

  ServerCalls server_;
};

}  // namespace

std::vector<std::string> fields_with_best(const RunQuery& query) {
  std::vector<std::string> fields = query.fields;
  fields.emplace_back(kBest);
  return fields;
}

void lift_best(nlohmann::json& answer, const RunQuery& query) {
  const bool is_asked = std::ranges::find(query.fields, kBest) != query.fields.end();
  for (nlohmann::json& run : answer["runs"]) {
    nlohmann::json& summary = run["summary"];
    const std::string text = summary.contains(kBest) && summary[kBest]["last"].is_string()
                                 ? summary[kBest]["last"].get<std::string>()
                                 : "";
    nlohmann::json best = nlohmann::json::parse(text, nullptr, false);
    run["best"] = best.is_object() ? std::move(best) : nlohmann::json();
    if (!is_asked) {
      summary.erase(kBest);
    }
  }
}

Result<std::unique_ptr<RunSource>> open_runs(const Arguments& arguments) {
  return open_runs(arguments,
                   arguments.has("--dir") ? std::optional(arguments.value("--dir")) : std::nullopt);
}

Result<std::unique_ptr<RunSource>> open_runs(const Arguments& arguments,
                                             const std::optional<std::string>& dir) {
  if (const auto url = server_of(arguments); url && !dir) {
    return std::make_unique<ServerRuns>(KEDGE_TRY(ServerCalls::open(*url, arguments)));
  }
  return open_run_folders(dir.value_or("runs"));
}

}  // namespace kedge::cli
