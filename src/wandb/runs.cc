// What a run is to a client that reads it, and lists of runs.
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "wandb/internal/encoding.h"
#include "wandb/internal/lenient_json.h"
#include "wandb/internal/nodes.h"
#include "wandb/internal/run_filter.h"

namespace kedge::wandb {
namespace {

using graphql::Args;
using graphql::make_node;
using graphql::TypeBuilder;
using graphql::Value;
using nlohmann::json;

// A fact of a run, as JSON.
template <typename F>
auto fact(F pick) {
  return [pick](const RunNode& run) -> Result<json> { return json(pick(*KEDGE_TRY(run.facts()))); };
}

Result<std::string> config_of(const RunNode& run) {
  const store::Run* whole = KEDGE_TRY(run.run());
  return render_lenient(wrap_config(whole->config, KEDGE_TRY(run.document(kConfigDocument))));
}

Result<std::string> summary_of(const RunNode& run) {
  const Documents* documents = KEDGE_TRY(run.documents());
  const auto said = documents->find(kSummaryDocument);
  const store::Run* whole = KEDGE_TRY(run.run());
  if (said == documents->end()) {
    return render_lenient(render_summary(*whole));
  }
  return said->second;
}

// The last value of each system metric.
Result<std::string> system_metrics_of(const RunNode& run) {
  json values = json::object();
  for (const store::Metric& metric : KEDGE_TRY(run.call().api.store.list_metrics(run.key()))) {
    if (metric.kind == store::MetricKind::System) {
      values["system." + metric.key] = metric.summary.last;
    }
  }
  return render_lenient(values);
}

// The part of _wandb that the keys name.
Result<json> wandb_config_of(const RunNode& run, const Args& args) {
  const json said = KEDGE_TRY(run.document(kConfigDocument));
  json picked = json::object();
  const auto inner = said.is_object() ? said.find("_wandb") : said.end();
  const json all = said.is_object() && inner != said.end() ? inner->value("value", json()) : json();
  for (const std::string& key : args.texts("keys")) {
    // A run that no such client began can be resumed all the same: the key must be there.
    picked[key] = all.is_object() && all.contains(key) ? all[key] : json::object();
  }
  return json(picked.dump());
}

Result<json> document_number(const RunNode& run, const char* name) {
  json value = KEDGE_TRY(run.document(name));
  return value.is_number() ? std::move(value) : json();
}

Result<bool> is_in_state(const RunNode& run, store::RunState state) {
  return KEDGE_TRY(run.facts())->state == state;
}

void declare_facts(graphql::Schema& schema) {
  TypeBuilder<RunNode>(schema, "Run")
      .leaf("id", [](const RunNode& run) { return run.id(); })
      .leaf("name", [](const RunNode& run) { return run.key().id; })
      .leaf("projectId",
            [](const RunNode& run) {
              const auto project = run.call().api.store.find_project(run.key().project);
              return project ? project->id : 0;
            })
      .leaf("internalId", [](const RunNode& run) { return run.id(); })
      .leaf("displayName", fact([](const store::RunFacts& facts) { return facts.name; }))
      .leaf("state", fact([](const store::RunFacts& facts) { return render_state(facts.state); }))
      .leaf("tags", fact([](const store::RunFacts& facts) { return facts.tags; }))
      .leaf("group", fact([](const store::RunFacts& facts) { return text_or_null(facts.group); }))
      .leaf("groupName",
            fact([](const store::RunFacts& facts) { return text_or_null(facts.group); }))
      .leaf("jobType",
            fact([](const store::RunFacts& facts) { return text_or_null(facts.job_type); }))
      .leaf("sweepName",
            fact([](const store::RunFacts& facts) { return text_or_null(facts.sweep); }))
      .leaf("notes", fact([](const store::RunFacts& facts) { return facts.notes; }))
      .leaf("description", fact([](const store::RunFacts& facts) { return facts.notes; }))
      .leaf("host", fact([](const store::RunFacts& facts) { return text_or_null(facts.host); }))
      .leaf("createdAt",
            fact([](const store::RunFacts& facts) { return render_time(facts.created_us); }))
      .leaf("heartbeatAt",
            fact([](const store::RunFacts& facts) { return render_time(facts.heartbeat_us); }))
      .leaf("updatedAt",
            fact([](const store::RunFacts& facts) { return render_time(facts.heartbeat_us); }))
      .leaf("readOnly",
            [](const RunNode& run) { return run.call().request.caller.role < http::Role::Write; })
      .object("user", "User",
              [](const RunNode& run) -> Result<Value> {
                const std::string& user = KEDGE_TRY(run.facts())->user;
                return make_node(UserNode{&run.call(), user.empty() ? run.call().viewer() : user});
              })
      .object("project", "Project", [](const RunNode& run) { return run.project(); });
}

void declare_documents(graphql::Schema& schema) {
  TypeBuilder<RunNode>(schema, "Run")
      .leaf("config", config_of)
      .leaf("summaryMetrics", summary_of)
      .leaf("systemMetrics", system_metrics_of)
      .leaf("wandbConfig", wandb_config_of)
      .leaf("commit",
            [](const RunNode& run) -> Result<json> {
              const json origin = KEDGE_TRY(run.document(kOriginDocument));
              return origin.is_object() ? origin.value("commit", json()) : json();
            })
      .leaf("jobProgram",
            [](const RunNode& run) -> Result<json> {
              const json origin = KEDGE_TRY(run.document(kOriginDocument));
              return origin.is_object() ? origin.value("program", json()) : json();
            })
      .leaf("repo",
            [](const RunNode& run) -> Result<json> {
              const json origin = KEDGE_TRY(run.document(kOriginDocument));
              return origin.is_object() ? origin.value("repo", json()) : json();
            })
      .leaf("exitcode", [](const RunNode& run) { return document_number(run, kExitDocument); })
      .leaf("shouldStop",
            [](const RunNode& run) -> Result<bool> {
              return KEDGE_TRY(run.document(kStopDocument)) == 1;
            })
      .leaf("stopped",
            [](const RunNode& run) -> Result<bool> {
              return KEDGE_TRY(run.document(kStopDocument)) == 1;
            })
      .leaf("failed", [](const RunNode& run) { return is_in_state(run, store::RunState::Failed); })
      .leaf("running",
            [](const RunNode& run) { return is_in_state(run, store::RunState::Running); });
}

Result<Value> list_runs(const ProjectNode& project, const Args& args) {
  const PageRequest page = parse_page(args);
  RunQuery query;
  query.filters = args.text("filters").value_or("");
  query.order = args.text("order").value_or("");
  query.page = page;
  const FoundRuns found = KEDGE_TRY(search_runs(project, query));
  Connection list{.offset = page.offset, .total = found.total};
  for (const store::RunKey& key : found.keys) {
    list.nodes.push_back(make_node(RunNode(*project.call, key, project.entity)));
  }
  list.has_next = page.offset + list.nodes.size() < found.total;
  return make_node(std::move(list));
}

}  // namespace

void declare_runs(graphql::Schema& schema) {
  declare_facts(schema);
  declare_documents(schema);
  declare_connection(schema, "Run", "Run");
  TypeBuilder<ProjectNode>(schema, "Project")
      .object("runs", "RunConnection", list_runs)
      .leaf("runCount", [](const ProjectNode& project, const Args& args) -> Result<json> {
        RunQuery query;
        query.filters = args.text("filters").value_or("");
        return json(KEDGE_TRY(search_runs(project, query)).total);
      });
}

}  // namespace kedge::wandb
