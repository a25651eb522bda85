// Mutations of sweeps: made, paused, stopped; agents and their heartbeats.
#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/random_text.h"
#include "search/propose.h"
#include "search/sweep_plan.h"
#include "server/api.h"
#include "server/sweep_host.h"
#include "wandb/internal/encoding.h"
#include "wandb/internal/sweep_nodes.h"

namespace kedge::wandb {
namespace {

using graphql::Args;
using graphql::make_node;
using graphql::TypeBuilder;
using graphql::Value;
using nlohmann::json;

struct UpsertedSweep {
  SweepNode sweep;
  std::vector<std::string> warnings = {};
};

struct MadeAgent {
  AgentNode agent;
  std::string commands = "[]";
};

Result<std::int64_t> parse_number_id(const char* type, const std::string& id) {
  const auto text = parse_id(type, id);
  std::int64_t number = 0;
  if (!text ||
      std::from_chars(text->data(), text->data() + text->size(), number).ec != std::errc{}) {
    return fail(ErrorKind::NotFound, fmt::format("'{}' is no id of a sweep or an agent", id));
  }
  return number;
}

Result<SweepNode> load_sweep(const Call& call, const std::string& id) {
  const std::int64_t number = KEDGE_TRY(parse_number_id("Sweep", id));
  auto found = KEDGE_TRY(store::HostedSweeps(call.api.store).find(number));
  if (!found) {
    return fail(ErrorKind::NotFound, "the sweep is not there any more");
  }
  KEDGE_TRY(call.check(found->project));
  return SweepNode{&call, call.viewer(), std::move(*found)};
}

Result<search::SweepPlan> check_config(const std::string& config) {
  search::SweepPlan plan = KEDGE_TRY(search::parse_sweep(config, "sweep"));
  KEDGE_TRY(search::check_plan(plan));
  return plan;
}

Result<Value> create_sweep(const Call& call, const Args& input) {
  const std::string config = input.text("config").value_or("");
  const search::SweepPlan plan = KEDGE_TRY(check_config(config));
  store::HostedSweep sweep;
  sweep.project = project_or_default(input.text("projectName"));
  KEDGE_TRY(call.check(sweep.project));
  if (!call.api.store.find_project(sweep.project)) {
    KEDGE_TRY(call.api.store.create_project({.name = sweep.project}, call.now_us()));
  }
  sweep.name = make_random_word(8);
  sweep.display_name = input.text("displayName").value_or(plan.name);
  sweep.description = input.text("description").value_or(plan.description);
  sweep.config = config;
  return make_node(
      UpsertedSweep{{&call, call.entity_or_viewer(input.text("entityName")),
                     KEDGE_TRY(store::HostedSweeps(call.api.store).create(sweep, call.now_us()))},
                    plan.warnings});
}

Result<Value> upsert_sweep(const Call& call, const Args& args) {
  const Args input = args.input();
  const auto id = input.text("id");
  if (!id || id->empty()) {
    return create_sweep(call, input);
  }
  const auto lock = call.api.sweeps.hold(KEDGE_TRY(parse_number_id("Sweep", *id)));
  UpsertedSweep changed{KEDGE_TRY(load_sweep(call, *id))};
  store::HostedSweep& sweep = changed.sweep.sweep;
  changed.sweep.entity = call.entity_or_viewer(input.text("entityName"));
  if (const auto config = input.text("config"); config && !config->empty()) {
    changed.warnings = KEDGE_TRY(check_config(*config)).warnings;
    sweep.config = *config;
  }
  sweep.description = input.text("description").value_or(sweep.description);
  sweep.display_name = input.text("displayName").value_or(sweep.display_name);
  if (const auto word = input.text("state")) {
    const auto state = store::parse_sweep_state(*word);
    if (!state) {
      return fail(ErrorKind::Usage, fmt::format("'{}' is no state of a sweep", *word));
    }
    sweep.state = *state;
  }
  KEDGE_TRY(store::HostedSweeps(call.api.store).put(sweep, call.now_us()));
  return make_node(std::move(changed));
}

Result<Value> create_agent(const Call& call, const Args& args) {
  const Args input = args.input();
  const std::string project = project_or_default(input.text("projectName"));
  KEDGE_TRY(call.check(project));
  store::HostedSweeps sweeps(call.api.store);
  auto sweep = KEDGE_TRY(sweeps.find(project, input.text("sweep").value_or("")));
  if (!sweep) {
    return fail(ErrorKind::NotFound,
                fmt::format("there is no sweep {}", input.text("sweep").value_or("")));
  }
  const store::SweepAgent agent =
      KEDGE_TRY(sweeps.add_agent(sweep->id, input.text("host").value_or(""), call.now_us()));
  return make_node(MadeAgent{
      {{&call, call.entity_or_viewer(input.text("entityName")), std::move(*sweep)}, agent}});
}

// The runs that an agent says it works on: {"abc": true, "old": false}.
Result<std::vector<std::string>> parse_running(const std::string& text) {
  const json states = text.empty() ? json::object() : KEDGE_TRY(server::parse_json(text));
  std::vector<std::string> running;
  if (states.is_object()) {
    for (const auto& [id, is_running] : states.items()) {
      if (is_running == true) {
        running.push_back(id);
      }
    }
  }
  return running;
}

Result<Value> heartbeat(const Call& call, const Args& args) {
  const Args input = args.input();
  const std::int64_t id = KEDGE_TRY(parse_number_id("Agent", input.text("id").value_or("")));
  store::HostedSweeps sweeps(call.api.store);
  const auto agent = KEDGE_TRY(sweeps.find_agent(id));
  auto sweep = agent ? KEDGE_TRY(sweeps.find(agent->sweep)) : std::nullopt;
  if (!sweep) {
    return fail(ErrorKind::NotFound, "the sweep is not there any more");
  }
  KEDGE_TRY(call.check(sweep->project));
  KEDGE_TRY(sweeps.note_agent(id, call.now_us()));
  MadeAgent told{{{&call, call.viewer(), std::move(*sweep)}, *agent}};
  const auto running = KEDGE_TRY(parse_running(input.text("runState").value_or("")));
  told.commands = KEDGE_TRY(next_commands(told.agent, running)).dump();
  return make_node(std::move(told));
}

}  // namespace

void declare_sweep_changes(graphql::Schema& schema) {
  TypeBuilder<UpsertedSweep>(schema, "UpsertSweepPayload")
      .object("sweep", "Sweep", &UpsertedSweep::sweep)
      .leaf("configValidationWarnings",
            [](const UpsertedSweep& made) { return json(made.warnings); });
  TypeBuilder<MadeAgent>(schema, "AgentPayload")
      .object("agent", "Agent", &MadeAgent::agent)
      .leaf("commands", &MadeAgent::commands);
  TypeBuilder<Call>(schema, "Mutation")
      .object("upsertSweep", "UpsertSweepPayload", upsert_sweep)
      .object("createAgent", "AgentPayload", create_agent)
      .object("agentHeartbeat", "AgentPayload", heartbeat);
  schema.add_input("UpsertSweepInput",
                   "id config description entityName projectName controller launchScheduler "
                   "templateVariableValues scheduler state priorRunsFilters displayName");
}

}  // namespace kedge::wandb
