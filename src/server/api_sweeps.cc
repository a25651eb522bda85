// Sweeps: what agents ask and tell, and what the page shows.
#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/time_text.h"
#include "search/importance.h"
#include "search/trial.h"
#include "server/internal/routes.h"
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
  trials = sweep::trials_of(views);
  if (plan.method == "list") {
    plan.space = search::space_of(trials);
  }
  return plan;
}

nlohmann::json to_json(const search::Estimate& estimate) {
  return {{"value", estimate.value}, {"low", estimate.low}, {"high", estimate.high}};
}

// What a call about one sweep needs.
struct Asked {
  SweepHost& host;
  const http::Request& request;
  const Input& input;
  store::HostedSweep sweep;
};

using Handling = Result<nlohmann::json> (*)(const Asked& asked);

Result<nlohmann::json> describe(SweepHost& host, const store::HostedSweep& sweep) {
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

Result<nlohmann::json> get_sweep(const Asked& asked) {
  return describe(asked.host, asked.sweep);
}

Result<nlohmann::json> get_trials(const Asked& asked) {
  return nlohmann::json{{"trials", KEDGE_TRY(asked.host.render_trials(asked.sweep))}};
}

Result<nlohmann::json> get_importance(const Asked& asked) {
  std::vector<search::Trial> trials;
  const auto views = KEDGE_TRY(asked.host.read_trials(asked.sweep));
  const search::SweepPlan plan = KEDGE_TRY(plan_with_space(asked.sweep, views, trials));
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

Result<nlohmann::json> get_control(const Asked& asked) {
  return nlohmann::json{{"state", state_of(asked.sweep, search::SweepPlan{}, {})},
                        {"reason", asked.sweep.reason}};
}

Result<nlohmann::json> put_control(const Asked& asked) {
  const auto state = sweep::parse_sweep_state(asked.input.at("state").get<std::string>());
  KEDGE_TRY(asked.host.control(asked.sweep, {*state, asked.input.at("reason")}));
  return nlohmann::json{{"state", sweep::name_of(*state)}, {"reason", asked.input.at("reason")}};
}

Result<nlohmann::json> claim(const Asked& asked) {
  if (asked.sweep.facts.empty()) {
    return fail(
        ErrorKind::Usage,
        fmt::format("sweep {} was made by wandb: its agents are `wandb agent`", asked.sweep.name));
  }
  return asked.host.claim(asked.sweep,
                          {.agent = asked.input.at("agent"), .dead = asked.input.at("dead")});
}

Result<nlohmann::json> find_known(const Asked& asked) {
  return nlohmann::json{
      {"result", KEDGE_TRY(asked.host.find_known(asked.sweep, asked.input.at("values")))}};
}

Result<nlohmann::json> add_ended(const Asked& asked) {
  return nlohmann::json{{"is_added", KEDGE_TRY(asked.host.add_ended(asked.sweep, asked.input))}};
}

// What an agent tells of its trial.
struct Told {
  SweepHost& host;
  const store::HostedSweep& sweep;
  std::int64_t number;
  const std::string& agent;
  const Input& input;
};

using Telling = Result<nlohmann::json> (*)(const Told& told);

Result<nlohmann::json> beat(const Told& told) {
  return nlohmann::json{
      {"is_held", KEDGE_TRY(told.host.beat(told.sweep, told.number, told.agent))}};
}

Result<nlohmann::json> note_progress(const Told& told) {
  KEDGE_TRY(told.host.note_progress(told.sweep, told.number, told.agent, told.input.at("curve")));
  return nlohmann::json::object();
}

Result<nlohmann::json> add_result(const Told& told) {
  return nlohmann::json{
      {"is_ours", KEDGE_TRY(told.host.add_result(told.sweep, told.number, told.agent,
                                                 told.input.at("result")))}};
}

template <bool is_paused>
Result<nlohmann::json> release(const Told& told) {
  KEDGE_TRY(told.host.release(told.sweep, told.number, told.agent, is_paused));
  return nlohmann::json::object();
}

Result<nlohmann::json> retry(const Told& told) {
  return nlohmann::json{{"is_open", KEDGE_TRY(told.host.retry(told.sweep, told.number))}};
}

template <Telling telling>
Result<nlohmann::json> tell(const Asked& asked) {
  return telling({asked.host, asked.sweep,
                  KEDGE_TRY(parse_number(asked.request.parameter("number"))),
                  asked.input.at("agent").get_ref<const std::string&>(), asked.input});
}

Result<http::Response> put_sweep(const Api& api, const http::Request& request, const Input& input) {
  store::HostedSweep sweep;
  sweep.project = request.parameter("project");
  sweep.name = request.parameter("id");
  sweep.config = input.at("text");
  const auto facts = KEDGE_TRY(sweep::parse_facts(input.at("facts"), "'facts' of the request"));
  sweep.facts = dump(sweep::facts_json(facts));
  sweep.display_name = facts.name;
  sweep = KEDGE_TRY(api.sweeps.put(sweep));
  api.audit(request, "sweep.put", fmt::format("{}/{}", sweep.project, sweep.name));
  return http::json_response(dump(KEDGE_TRY(describe(api.sweeps, sweep))));
}

Result<http::Response> list_sweeps(SweepHost& host, store::HostedSweeps sweeps,
                                   const http::Request& request, const Input& input) {
  const std::string project = KEDGE_TRY(project_of(request, input));
  nlohmann::json list = nlohmann::json::array();
  if (!request.caller.run.empty()) {  // a link to one run says nothing of the project around it
    return http::json_response(dump({{"sweeps", std::move(list)}}));
  }
  for (const store::HostedSweep& sweep :
       KEDGE_TRY(project.empty() ? sweeps.list() : sweeps.list(project))) {
    const auto plan = plan_of(sweep);
    const auto trials = host.read_trials(sweep);
    if (plan && trials) {
      list.push_back(summarise(sweep, *plan, *trials));
    }
  }
  return http::json_response(dump({{"sweeps", std::move(list)}}));
}

void name_sweep_shapes(Routes& routes) {
  routes.name("SweepSummary", R"({
    id: string,
    project: string,
    name: string,
    method: string,
    metric: {name: string, goal: 'minimize' | 'maximize'},
    state: 'running' | 'paused' | 'stopped' | 'cancelled' | 'finished',
    reason: string,
    origin: 'kedge' | 'wandb',  // whose agents work on it
    trials: integer,
    best: number | null,
    expected_runs: integer | null,
    created: string,
  })");
  routes.name("SweepAxis", R"({
    name: string,
    kind: 'choice' | 'log' | 'linear',
    values?: any[],  // of a choice
  })");
  routes.name("Sweep", R"(SweepSummary & {
    text: string,  // the sweep file
    facts: {*: any},  // none of a wandb client's sweep
    axes: SweepAxis[],
  })");
  routes.name("TrialResult", R"({
    state: string,
    exit_code: integer,
    seconds: number,
    host: string,
    ended: string,
    metric?: number,
    message?: string,
    reused?: string,  // from which sweep and trial
  })");
  routes.name("Trial", R"({
    number: integer,
    state: string,
    values: {*: any},
    run: string,
    attempts: integer,
    failures: integer,
    curve: (number | null)[],
    metric: number | null,
    result: TrialResult | null,
    holder?: string,  // the agent that works on it
  })");
  routes.name("Estimate", "{value: number, low: number, high: number}");
  routes.name("Importance", R"({
    trials: integer,
    explained: number,
    parameters: {
      name: string,
      correlation: Estimate,
      permutation: Estimate,
      variance_share: Estimate,
    }[],
  })");
}

// The calls about one sweep: below its address.
class SweepRoutes {
 public:
  explicit SweepRoutes(Routes& routes) : routes_(routes), host_(routes.api().sweeps) {}

  void add(http::Method method, const std::string& rest, Call call, Handling handling) {
    call.options = {.role = method == http::Method::Get ? http::Role::View : http::Role::Write,
                    .max_body_bytes = kMaxSweepBytes};
    routes_.add(
        method, "/api/v1/sweeps/{project}/{id}" + rest, call,
        [&host = host_, handling](const http::Request& request,
                                  const Input& input) -> Result<http::Response> {
          const auto answer = KEDGE_TRY(handling(
              {host, request, input,
               KEDGE_TRY(host.load(request.parameter("project"), request.parameter("id")))}));
          return http::json_response(dump(answer));
        });
  }

  void tell(const std::string& what, const Call& call, Handling handling) {
    add(http::Method::Post, "/trials/{number}/" + what, call, handling);
  }

 private:
  Routes& routes_;
  SweepHost& host_;
};

void add_agent_routes(SweepRoutes& sweep) {
  constexpr std::string_view kAgent = "{agent: string}";
  sweep.add(http::Method::Post, "/claim",
            {.summary = "A trial for an agent",
             .body = R"({
               agent: string(1..),
               dead?: string[] = [],  // agents that have died: others need not wait for them
             })",
             .answer = R"({
               trial?: Trial,
               spent_s?: number,  // by attempts before
               promoted?: boolean,  // it has earned its next rung
               end?: string,  // why there is none
               open?: integer,  // trials that have not ended
             })"},
            claim);
  sweep.add(http::Method::Post, "/known",
            {.summary = "The result of the same values, code and data in another sweep",
             .body = "{values: {*: any}}",
             .answer = "{result: TrialResult | null}"},
            find_known);
  sweep.add(http::Method::Post, "/trials",
            {.summary = "Add a trial that ended elsewhere",
             .body = R"({
               number: integer,
               values: {*: any},
               run: string,
               attempts?: integer,
               failures?: integer,
               state?: string,
               metric?: number | null,
               curve?: (number | null)[],
               holder?: string,
               result: {
                 state: string,
                 metric?: number,
                 exit_code?: integer,
                 seconds?: number,
                 host?: string,
                 ended?: string,
                 message?: string,
                 reused?: string,
               },
             })",
             .answer = "{is_added: boolean}"},
            add_ended);
  sweep.tell("beat", {.summary = "A sign of life", .body = kAgent, .answer = "{is_held: boolean}"},
             tell<beat>);
  sweep.tell("progress",
             {.summary = "What a trial has reached",
              .body = "{agent: string, curve: (number | null)[]}",
              .answer = "{}"},
             tell<note_progress>);
  sweep.tell("result",
             {.summary = "How a trial ended; the first result counts",
              .body = "{agent: string, result: TrialResult}",
              .answer = "{is_ours: boolean}"},
             tell<add_result>);
  sweep.tell("pause", {.summary = "It waits for its next rung", .body = kAgent, .answer = "{}"},
             tell<release<true>>);
  sweep.tell("release", {.summary = "Another agent may have it", .body = kAgent, .answer = "{}"},
             tell<release<false>>);
  sweep.tell("retry",
             {.summary = "It is tried again", .body = kAgent, .answer = "{is_open: boolean}"},
             tell<retry>);
}

}  // namespace

void add_sweep_routes(Routes& routes) {
  name_sweep_shapes(routes);
  const Api& api = routes.api();
  routes.add(http::Method::Get, "/api/v1/sweeps",
             {.summary = "Sweeps, the newest first; all, or one project's",
              .options = {.is_scoped = true},
              .query = "{project?: string}",
              .answer = "{sweeps: SweepSummary[]}"},
             [&api](const http::Request& request, const Input& input) {
               return list_sweeps(api.sweeps, store::HostedSweeps(api.store), request, input);
             });
  routes.add(http::Method::Put, "/api/v1/sweeps/{project}/{id}",
             {.summary = "Make a sweep, or get the one that is there",
              .options = {.role = http::Role::Write, .max_body_bytes = kMaxSweepBytes},
              .body = R"({
                text: string,  // the sweep file, or a table
                facts: {*: any},  // who made it of what
              })",
              .answer = "Sweep"},
             [&api](const http::Request& request, const Input& input) {
               return put_sweep(api, request, input);
             });
  SweepRoutes sweep(routes);
  sweep.add(http::Method::Get, "", {.summary = "A sweep: its file, state, axes", .answer = "Sweep"},
            get_sweep);
  sweep.add(
      http::Method::Get, "/control",
      {.summary = "Whether trials are handed out", .answer = "{state: string, reason: string}"},
      get_control);
  sweep.add(http::Method::Put, "/control",
            {.summary = "Pause it, let it go on, stop or cancel it",
             .body = R"({
               state: 'running' | 'paused' | 'stopped' | 'cancelled',
               reason?: string = "",
             })",
             .answer = "{state: string, reason: string}"},
            put_control);
  sweep.add(http::Method::Get, "/trials",
            {.summary = "All trials in order", .answer = "{trials: Trial[]}"}, get_trials);
  sweep.add(http::Method::Get, "/importance",
            {.summary = "Which parameters matter", .answer = "Importance"}, get_importance);
  add_agent_routes(sweep);
}

}  // namespace kedge::server
