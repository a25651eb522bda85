#include "cli/run_source.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/server_calls.h"
#include "track/attempt.h"
#include "track/history.h"
#include "track/retag.h"
#include "track/run_facts.h"
#include "track/run_list.h"

namespace kedge::cli {
namespace {

// As the server's API has it.
nlohmann::json summary_of_curve(const track::Curve& curve) {
  double min = std::nan("");
  double max = std::nan("");
  for (const track::Point& point : curve.points) {
    min = std::fmin(min, point.value);
    max = std::fmax(max, point.value);
  }
  const track::Point& last = curve.points.back();
  return {{"last", last.value},
          {"min", min},
          {"max", max},
          {"last_step", last.step},
          {"count", curve.points.size()}};
}

class LocalRuns : public RunSource {
 public:
  explicit LocalRuns(Path dir) : dir_(std::move(dir)) {}

  Result<nlohmann::json> load(const std::string& word) override {
    const Path run = KEDGE_TRY(track::find_run_folder(word, dir_));
    const track::RunName name = KEDGE_TRY(track::read_run_name(run));
    nlohmann::json json = KEDGE_TRY(track::read_run_facts(run));
    json["project"] = name.project;
    json["id"] = name.id;
    json["path"] = run.string();
    nlohmann::json& summary = json["summary"] = nlohmann::json::object();
    for (const auto& [key, curve] : KEDGE_TRY(track::read_history(run)).curves) {
      if (!curve.points.empty()) {
        summary[key] = summary_of_curve(curve);
      }
    }
    return json;
  }

  Result<std::vector<std::string>> tag(const std::string& word, const Retag& retag) override {
    return track::retag_run(KEDGE_TRY(track::find_run_folder(word, dir_)), retag);
  }

  bool has_trash() const override { return false; }

  Result<void> restore(const std::string& word) override {
    return fail(ErrorKind::Usage,
                fmt::format("run '{}' cannot be restored: folders have no trash", word),
                "--server URL restores a server's run");
  }

  Result<void> remove(const std::string& word, bool) override {
    const Path run = KEDGE_TRY(track::find_run_folder(word, dir_));
    if (const auto holder = KEDGE_TRY(track::find_live_holder(run))) {
      return fail(ErrorKind::Usage,
                  fmt::format("{} works on run '{}' (process {})", holder->host, word, holder->pid),
                  "stop it first");
    }
    std::error_code error;
    std::filesystem::remove_all(run, error);
    return error ? std::unexpected(io_error("cannot remove", run, error.value())) : Result<void>();
  }

 private:
  Path dir_;
};

class ServerRuns : public RunSource {
 public:
  explicit ServerRuns(ServerCalls server) : server_(std::move(server)) {}

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

Result<std::unique_ptr<RunSource>> open_runs(const Arguments& arguments) {
  if (const auto url = server_of(arguments); url && !arguments.has("--dir")) {
    return std::make_unique<ServerRuns>(KEDGE_TRY(ServerCalls::open(*url, arguments)));
  }
  return std::make_unique<LocalRuns>(arguments.value("--dir", "runs"));
}

}  // namespace kedge::cli
