#include "cli/run_folders.h"

#include <chrono>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "checkpoint/checkpoint.h"
#include "checkpoint/library.h"
#include "store/run_search.h"
#include "track/attempt.h"
#include "track/history.h"
#include "track/retag.h"
#include "track/run_facts.h"
#include "track/run_list.h"

namespace kedge::cli {
namespace {

std::int64_t now_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// Folders and servers say it alike: one that was killed has crashed.
store::RunState state_of(const std::string& word) {
  return store::parse_run_state(word).value_or(store::RunState::Crashed);
}

Result<std::map<std::string, store::MetricSummary>> sum_up_metrics(const Path& run) {
  std::map<std::string, store::MetricSummary> metrics;
  for (const auto& [key, curve] :
       KEDGE_TRY(track::read_history(run, {.with_replaced = false})).curves) {
    if (curve.points.empty()) {
      continue;
    }
    const track::Point& last = curve.points.back();
    store::MetricSummary& metric = metrics[key] = {.last = last.value,
                                                   .last_step = last.step,
                                                   .count = curve.points.size(),
                                                   .last_us = last.time_us};
    for (const track::Point& point : curve.points) {
      metric.min = std::fmin(metric.min, point.value);
      metric.max = std::fmax(metric.max, point.value);
    }
  }
  return metrics;
}

nlohmann::json render_best(const track::BestValue& best) {
  return {{"metric", best.metric}, {"value", best.value}, {"epoch", best.epoch}};
}

// Of a training that goes on, or was cut off: what its newest checkpoint knows.
nlohmann::json find_best_so_far(const Path& run) {
  const auto found = checkpoint::list_checkpoints({.durable = run / "checkpoints"});
  if (!found || found->entries.empty()) {
    return nullptr;
  }
  const auto opened = checkpoint::Checkpoint::open(found->entries.back().path);
  if (!opened) {
    return nullptr;
  }
  nlohmann::json best = opened->state().value("best", nlohmann::json());
  if (!best.is_object() || !best.value("value", nlohmann::json()).is_number()) {
    return nullptr;
  }
  best.erase("since");
  return best;
}

store::ListedRun list_run(const track::RunSummary& run) {
  store::ListedRun listed;
  store::RunFacts& facts = listed.facts;
  facts.project = run.project;
  facts.id = run.id;
  facts.name = run.name;
  facts.state = state_of(run.state);
  facts.created_us = run.created_us;
  facts.tags = run.tags;
  facts.attempt = run.attempts;
  facts.last_step = run.last_step;
  if (nlohmann::json best = run.best ? render_best(*run.best) : find_best_so_far(run.path);
      best.is_object()) {
    listed.values["best"] = std::move(best);
  }
  return listed;
}

void add_facts(store::RunFacts& facts, const nlohmann::json& json) {
  facts.ended_us = json.value("ended_us", std::int64_t{0});
  facts.heartbeat_us = facts.state == store::RunState::Running ? now_us() : facts.ended_us;
  facts.user = json.value("user", "");
  facts.host = json.value("host", "");
  facts.group = json.value("group", "");
  facts.job_type = json.value("job_type", "");
  facts.notes = json.value("notes", "");
}

class FolderRuns : public RunSource {
 public:
  explicit FolderRuns(Path dir) : dir_(std::move(dir)) {}

  Result<nlohmann::json> search(const RunQuery& query) override {
    if (query.is_trash) {
      return fail(ErrorKind::Usage, "folders have no trash",
                  "--server URL lists that of a tracking server");
    }
    store::Search search{
        .filter = query.filter, .order = query.order, .limit = query.limit, .fields = query.fields};
    if (!query.project.empty()) {
      search.projects = {query.project};
    }
    const store::SearchNeeds needs = KEDGE_TRY(store::find_needs(search, now_us()));
    search.fields = fields_with_best(query);
    const bool is_plain = query.filter.empty() && query.order.empty() && query.fields.empty();
    std::vector<store::ListedRun> runs;
    std::map<store::RunKey, std::string> paths;
    for (const track::RunSummary& run : KEDGE_TRY(track::list_runs(dir_))) {
      store::ListedRun& listed = runs.emplace_back(list_run(run));
      paths[{run.project, run.id}] = run.path.string();
      if (!is_plain) {
        const nlohmann::json facts = KEDGE_TRY(track::read_run_facts(run.path));
        add_facts(listed.facts, facts);
        listed.config = facts.value("config", nlohmann::json());
      }
      if (needs.metrics) {
        listed.metrics = KEDGE_TRY(sum_up_metrics(run.path));
      }
    }
    const store::SearchText found =
        KEDGE_TRY(store::search_runs(std::move(runs), search, now_us()));
    nlohmann::json answer = {{"runs", nlohmann::json::parse(found.runs)},
                             {"total", found.total},
                             {"warnings", found.warnings}};
    for (nlohmann::json& run : answer["runs"]) {
      run["path"] = paths.at({run["project"], run["id"]});
    }
    lift_best(answer, query);
    return answer;
  }

  Result<nlohmann::json> load(const std::string& word) override {
    const Path run = KEDGE_TRY(track::find_run_folder(word, dir_));
    const track::RunName name = KEDGE_TRY(track::read_run_name(run));
    nlohmann::json json = KEDGE_TRY(track::read_run_facts(run));
    json["project"] = name.project;
    json["id"] = name.id;
    json["path"] = run.string();
    json["state"] = store::name_of(state_of(json["state"]));
    nlohmann::json& summary = json["summary"] = nlohmann::json::object();
    for (const auto& [key, metric] : KEDGE_TRY(sum_up_metrics(run))) {
      summary[key] = {{"last", store::render_number(metric.last)},
                      {"min", store::render_number(metric.min)},
                      {"max", store::render_number(metric.max)},
                      {"last_step", metric.last_step},
                      {"count", metric.count}};
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

}  // namespace

std::unique_ptr<RunSource> open_run_folders(Path dir) {
  return std::make_unique<FolderRuns>(std::move(dir));
}

}  // namespace kedge::cli
