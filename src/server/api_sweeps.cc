// Sweeps: what agents ask and tell, and what the page shows.
#include <charconv>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/time_text.h"
#include "search/importance.h"
#include "search/trial.h"
#include "server/api.h"
#include "server/sweep_host.h"
#include "store/hosted_sweeps.h"
#include "sweep/trial_files.h"
#include "sweep/trial_table.h"

namespace kedge::server {
namespace {

constexpr std::uint64_t kMaxSweepBytes = 16U << 20U;

Result<std::int64_t> parse_number(const std::string& text) {
  std::int64_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size()) {
    return fail(ErrorKind::Usage, fmt::format("'{}' is no trial's number", text));
  }
  return number;
}

nlohmann::json summarise(const store::HostedSweep& sweep, const search::SweepPlan& plan,
                         const std::vector<sweep::TrialView>& trials) {
  const auto order = sweep::rank_trials(plan.metric, trials);
  const auto expected = search::expected_runs(plan);
  nlohmann::json json = {
      {"id", sweep.name},
      {"project", sweep.project},
      {"name", sweep.display_name},
      {"method", plan.method},
      {"metric",
       {{"name", plan.metric.name},
        {"goal", plan.metric.goal == search::Goal::Maximize ? "maximize" : "minimize"}}},
      {"state", state_of(sweep, plan, trials)},
      {"reason", sweep.reason},
      {"origin", sweep.facts.empty() ? "wandb" : "kedge"},
      {"trials", trials.size()},
      {"created", render_time(sweep.created_us)}};
  json["best"] = nullptr;
  if (!order.empty() && trials[order.front()].trial.metric) {
    json["best"] = *trials[order.front()].trial.metric;
  }
  json["expected_runs"] = expected ? nlohmann::json(*expected) : nlohmann::json();
  return json;
}

// How the page draws an axis.
nlohmann::json describe_axes(const search::Space& space) {
  nlohmann::json axes = nlohmann::json::array();
  for (const search::Parameter& axis : space.axes()) {
    using search::Distribution;
    const bool is_log = axis.distribution == Distribution::LogUniform ||
                        axis.distribution == Distribution::InvLogUniform ||
                        axis.distribution == Distribution::LogNormal;
    nlohmann::json json = {{"name", axis.name()},
                           {"kind", axis.is_categorical() ? "choice"
                                    : is_log              ? "log"
                                                          : "linear"}};
    if (axis.is_categorical()) {
      json["values"] = axis.values;
    }
    axes.push_back(std::move(json));
  }
  return axes;
}

Result<search::SweepPlan> plan_with_space(const store::HostedSweep& sweep,
                                          const std::vector<sweep::TrialView>& views,
                                          std::vector<search::Trial>& trials) {
  search::SweepPlan plan = KEDGE_TRY(plan_of(sweep));
  for (const sweep::TrialView& view : views) {
    trials.push_back(view.trial);
  }
  if (plan.method == "list") {
    plan.space = search::space_of(trials);
  }
  return plan;
}

nlohmann::json to_json(const search::Estimate& estimate) {
  return {{"value", estimate.value}, {"low", estimate.low}, {"high", estimate.high}};
}

using Handling = Result<nlohmann::json> (*)(SweepHost&, const Request&, const store::HostedSweep&);

Result<nlohmann::json> get_sweep(SweepHost& host, const Request& /*request*/,
                                 const store::HostedSweep& sweep) {
  std::vector<search::Trial> trials;
  const auto views = KEDGE_TRY(host.read_trials(sweep));
  const search::SweepPlan plan = KEDGE_TRY(plan_with_space(sweep, views, trials));
  nlohmann::json json = summarise(sweep, plan, views);
  json["text"] = sweep.config;
  json["facts"] =
      sweep.facts.empty() ? nlohmann::json::object() : KEDGE_TRY(parse_json(sweep.facts));
  json["axes"] = describe_axes(plan.space);
  return json;
}

Result<nlohmann::json> get_trials(SweepHost& host, const Request& /*request*/,
                                  const store::HostedSweep& sweep) {
  return nlohmann::json{{"trials", KEDGE_TRY(host.render_trials(sweep))}};
}

Result<nlohmann::json> get_importance(SweepHost& host, const Request& /*request*/,
                                      const store::HostedSweep& sweep) {
  std::vector<search::Trial> trials;
  const auto views = KEDGE_TRY(host.read_trials(sweep));
  const search::SweepPlan plan = KEDGE_TRY(plan_with_space(sweep, views, trials));
  const auto report = KEDGE_TRY(search::find_importance(plan, trials));
  nlohmann::json json = {{"trials", report.trials},
                         {"explained", report.explained},
                         {"parameters", nlohmann::json::array()}};
  for (const search::Importance& one : report.parameters) {
    json["parameters"].push_back({{"name", one.name},
                                  {"correlation", to_json(one.correlation)},
                                  {"permutation", to_json(one.permutation)},
                                  {"variance_share", to_json(one.variance_fraction)}});
  }
  return json;
}

Result<nlohmann::json> get_control(SweepHost& /*host*/, const Request& /*request*/,
                                   const store::HostedSweep& sweep) {
  return nlohmann::json{{"state", state_of(sweep, search::SweepPlan{}, {})},
                        {"reason", sweep.reason}};
}

Result<nlohmann::json> put_control(SweepHost& host, const Request& request,
                                   const store::HostedSweep& sweep) {
  const nlohmann::json json = KEDGE_TRY(parse_object(request));
  KEDGE_TRY(check_names(json, {"state", "reason"}));
  const auto state = sweep::parse_sweep_state(KEDGE_TRY(find_text(json, "state")).value_or(""));
  if (!state) {
    return fail(ErrorKind::Usage, "state must be running, paused, stopped or cancelled");
  }
  KEDGE_TRY(host.control(sweep, {*state, KEDGE_TRY(find_text(json, "reason")).value_or("")}));
  return nlohmann::json{{"state", sweep::name_of(*state)}};
}

Result<nlohmann::json> claim(SweepHost& host, const Request& request,
                             const store::HostedSweep& sweep) {
  const nlohmann::json json = KEDGE_TRY(parse_object(request));
  KEDGE_TRY(check_names(json, {"agent", "dead"}));
  ClaimRequest asked;
  asked.agent = KEDGE_TRY(find_text(json, "agent")).value_or("");
  asked.dead = KEDGE_TRY(find_texts(json, "dead")).value_or(std::vector<std::string>());
  if (asked.agent.empty() || sweep.facts.empty()) {
    return fail(
        ErrorKind::Usage,
        asked.agent.empty()
            ? "'agent' is missing"
            : fmt::format("sweep {} was made by wandb: its agents are `wandb agent`", sweep.name));
  }
  return host.claim(sweep, asked);
}

Result<nlohmann::json> find_known(SweepHost& host, const Request& request,
                                  const store::HostedSweep& sweep) {
  const nlohmann::json json = KEDGE_TRY(parse_object(request));
  return nlohmann::json{{"result", KEDGE_TRY(host.find_known(
                                       sweep, json.value("values", nlohmann::json::object())))}};
}

Result<nlohmann::json> add_ended(SweepHost& host, const Request& request,
                                 const store::HostedSweep& sweep) {
  return nlohmann::json{
      {"is_added", KEDGE_TRY(host.add_ended(sweep, KEDGE_TRY(parse_object(request))))}};
}

Result<nlohmann::json> change_trial(SweepHost& host, const Request& request,
                                    const store::HostedSweep& sweep) {
  const std::string& what = request.parameter("what");
  const std::int64_t number = KEDGE_TRY(parse_number(request.parameter("number")));
  const nlohmann::json json = KEDGE_TRY(parse_object(request));
  const std::string agent = KEDGE_TRY(find_text(json, "agent")).value_or("");
  if (what == "beat") {
    return nlohmann::json{{"is_held", KEDGE_TRY(host.beat(sweep, number, agent))}};
  }
  if (what == "progress") {
    KEDGE_TRY(
        host.note_progress(sweep, number, agent, json.value("curve", nlohmann::json::array())));
    return nlohmann::json::object();
  }
  if (what == "result") {
    const nlohmann::json result = json.value("result", nlohmann::json());
    if (!result.is_object()) {
      return fail(ErrorKind::Usage, "'result' must be an object");
    }
    return nlohmann::json{{"is_ours", KEDGE_TRY(host.add_result(sweep, number, agent, result))}};
  }
  if (what == "pause" || what == "release") {
    KEDGE_TRY(host.let_go(sweep, number, agent, what == "pause"));
    return nlohmann::json::object();
  }
  if (what == "retry") {
    return nlohmann::json{{"is_open", KEDGE_TRY(host.retry(sweep, number))}};
  }
  return fail(ErrorKind::NotFound, fmt::format("nothing can be told a trial by '{}'", what));
}

Result<Response> put_sweep(const Api& api, SweepHost& host, const Request& request) {
  const nlohmann::json json = KEDGE_TRY(parse_object(request));
  KEDGE_TRY(check_names(json, {"text", "facts"}));
  store::HostedSweep sweep;
  sweep.project = request.parameter("project");
  sweep.name = request.parameter("id");
  sweep.config = KEDGE_TRY(find_text(json, "text")).value_or("");
  const auto facts = KEDGE_TRY(
      sweep::parse_facts(json.value("facts", nlohmann::json()), "'facts' of the request"));
  sweep.facts = dump(sweep::facts_json(facts));
  sweep.display_name = facts.name;
  sweep = KEDGE_TRY(host.put(sweep));
  api.audit(request, "sweep.put", fmt::format("{}/{}", sweep.project, sweep.name));
  return json_response(dump(KEDGE_TRY(get_sweep(host, request, sweep))));
}

Result<Response> list_sweeps(SweepHost& host, store::HostedSweeps sweeps, const Request& request) {
  const std::string project = KEDGE_TRY(project_of(request));
  nlohmann::json list = nlohmann::json::array();
  if (!request.caller.run.empty()) {  // a link to one run says nothing of the project around it
    return json_response(dump({{"sweeps", std::move(list)}}));
  }
  for (const store::HostedSweep& sweep :
       KEDGE_TRY(project.empty() ? sweeps.list() : sweeps.list(project))) {
    const auto plan = plan_of(sweep);
    const auto trials = host.read_trials(sweep);
    if (plan && trials) {
      list.push_back(summarise(sweep, *plan, *trials));
    }
  }
  return json_response(dump({{"sweeps", std::move(list)}}));
}

}  // namespace

void add_sweep_routes(Router& router, const Api& api) {
  // Shared by the handlers: who was heard of when.
  const auto host = std::make_shared<SweepHost>(api);
  const auto add = [&](Method method, const std::string& rest, Handling handling) {
    const RouteOptions options{.role = method == Method::Get ? Role::View : Role::Write,
                               .max_body_bytes = kMaxSweepBytes};
    router.add(method, "/api/v1/sweeps/{project}/{id}" + rest, options,
               [host, handling](const Request& request) -> Result<Response> {
                 const auto sweep =
                     KEDGE_TRY(host->load(request.parameter("project"), request.parameter("id")));
                 return json_response(dump(KEDGE_TRY(handling(*host, request, sweep))));
               });
  };
  router.add(Method::Get, "/api/v1/sweeps", {.is_scoped = true},
             [&api, host](const Request& request) {
               return list_sweeps(*host, store::HostedSweeps(api.store), request);
             });
  router.add(Method::Put, "/api/v1/sweeps/{project}/{id}",
             {.role = Role::Write, .max_body_bytes = kMaxSweepBytes},
             [&api, host](const Request& request) { return put_sweep(api, *host, request); });
  add(Method::Get, "", get_sweep);
  add(Method::Get, "/control", get_control);
  add(Method::Put, "/control", put_control);
  add(Method::Get, "/trials", get_trials);
  add(Method::Get, "/importance", get_importance);
  add(Method::Post, "/claim", claim);
  add(Method::Post, "/known", find_known);
  add(Method::Post, "/trials", add_ended);
  add(Method::Post, "/trials/{number}/{what}", change_trial);
}

}  // namespace kedge::server
