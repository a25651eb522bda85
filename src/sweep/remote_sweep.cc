#include "sweep/remote_sweep.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/file.h"
#include "core/inside.h"
#include "core/random_text.h"
#include "core/result.h"
#include "core/url.h"
#include "sweep/internal/remote_lease.h"
#include "sweep/sweep_folder.h"
#include "sweep/trial_files.h"
#include "track/attempt.h"

namespace kedge::sweep {
namespace {

std::string sweep_path(const std::string& project, const std::string& id) {
  return fmt::format("/api/v1/sweeps/{}/{}", encode_url_part(project), encode_url_part(id));
}

Result<std::string> find_project(track::ServerLink& link, const std::string& id) {
  const nlohmann::json answer = KEDGE_TRY(link.call("GET", "/api/v1/sweeps"));
  for (const nlohmann::json& sweep : answer.value("sweeps", nlohmann::json::array())) {
    if (sweep.value("id", "") == id || sweep.value("name", "") == id) {
      return sweep.value("project", "");
    }
  }
  return fail(ErrorKind::NotFound, fmt::format("{} has no sweep '{}'", link.url(), id),
              "`kedge sweep ls --server URL` lists them");
}

// A program is looked for where the agent is, so its path must not name the maker's machine.
void make_relative(SweepFacts& facts) {
  const Path program = facts.program;
  if (program.is_absolute()) {
    const Path relative = program.lexically_relative(facts.folder);
    if (!relative.empty() && *relative.begin() != "..") {
      facts.program = relative.string();
    }
  }
}

// A sweep of another tool comes without facts: what the server says of it is enough to read it.
Result<SweepFacts> facts_of(const nlohmann::json& described, const std::string& where) {
  const nlohmann::json facts = described.value("facts", nlohmann::json::object());
  if (!facts.empty()) {
    return parse_facts(facts, where);
  }
  SweepFacts made;
  made.id = described.value("id", "");
  made.name = described.value("name", "");
  made.project = described.value("project", "");
  made.created = described.value("created", "");
  made.file = "sweep.yaml";
  return made;
}

}  // namespace

RemoteSweep::RemoteSweep(RemotePlace place, track::ServerLink link, SweepFacts facts,
                         search::SweepPlan plan)
    : Sweep(std::move(facts), std::move(plan)),
      place_(std::move(place)),
      link_(std::move(link)),
      agent_(make_random_word(16)) {}

Result<std::unique_ptr<RemoteSweep>> RemoteSweep::make(const RemotePlace& place,
                                                       track::ServerLink link,
                                                       const nlohmann::json& described) {
  SweepFacts facts = KEDGE_TRY(facts_of(described, link.url()));
  if (!is_inside(facts.id)) {  // its trials are written into a folder of that name: trial_path()
    return fail(ErrorKind::Corrupt,
                fmt::format("{} answers with a sweep whose id is '{}'", link.url(), facts.id));
  }
  facts.folder = std::filesystem::current_path();
  facts.runs = std::filesystem::absolute(place.runs).lexically_normal();
  const bool is_table = facts.file == "sweep.csv";
  search::SweepPlan plan =
      KEDGE_TRY(read_plan(described.value("text", ""), "the sweep's file", is_table));
  plan.metric = is_table ? facts.metric : plan.metric;
  return std::unique_ptr<RemoteSweep>(
      new RemoteSweep(place, std::move(link), std::move(facts), std::move(plan)));
}

Result<std::unique_ptr<RemoteSweep>> RemoteSweep::create(const RemotePlace& place,
                                                         const NewSweep& sweep) {
  const search::SweepPlan plan = KEDGE_TRY(read_plan(sweep.text, sweep.file_name, sweep.is_table));
  SweepFacts facts = KEDGE_TRY(make_facts(sweep, plan));
  make_relative(facts);
  facts.project = facts.project.empty() ? "default" : facts.project;
  track::ServerLink link = KEDGE_TRY(track::ServerLink::open(place.address));
  const nlohmann::json made =
      KEDGE_TRY(link.call("PUT", sweep_path(facts.project, facts.id),
                          {{"text", sweep.text}, {"facts", facts_json(facts)}}));
  return make(place, std::move(link), made);
}

Result<std::unique_ptr<RemoteSweep>> RemoteSweep::copy(const RemotePlace& place, const Sweep& from,
                                                       const std::string& text) {
  SweepFacts facts = from.facts();
  make_relative(facts);
  facts.project = facts.project.empty() ? "default" : facts.project;
  track::ServerLink link = KEDGE_TRY(track::ServerLink::open(place.address));
  const nlohmann::json made = KEDGE_TRY(link.call("PUT", sweep_path(facts.project, facts.id),
                                                  {{"text", text}, {"facts", facts_json(facts)}}));
  return make(place, std::move(link), made);
}

Result<std::unique_ptr<RemoteSweep>> RemoteSweep::open(const RemotePlace& place,
                                                       const std::string& word) {
  track::ServerLink link = KEDGE_TRY(track::ServerLink::open(place.address));
  const std::size_t slash = word.rfind('/');
  const std::string id = slash == std::string::npos ? word : word.substr(slash + 1);
  const std::string project =
      slash == std::string::npos ? KEDGE_TRY(find_project(link, id)) : word.substr(0, slash);
  const nlohmann::json described = KEDGE_TRY(link.call("GET", sweep_path(project, id)));
  return make(place, std::move(link), described);
}

Result<nlohmann::json> RemoteSweep::list(const RemotePlace& place) {
  track::ServerLink link = KEDGE_TRY(track::ServerLink::open(place.address));
  const nlohmann::json answer = KEDGE_TRY(link.call("GET", "/api/v1/sweeps"));
  return answer.value("sweeps", nlohmann::json::array());
}

std::string RemoteSweep::path(const std::string& rest) const {
  return sweep_path(facts_.project, facts_.id) + rest;
}

std::string RemoteSweep::place() const {
  return fmt::format("{}/#/p/{}/sweeps/{}", link_.url(), encode_url_part(facts_.project),
                     facts_.id);
}

Path RemoteSweep::trial_path(std::int64_t number) const {
  return std::filesystem::absolute(place_.dir / facts_.id / "trials" / std::to_string(number))
      .lexically_normal();
}

Result<Control> RemoteSweep::read_control() {
  const nlohmann::json answer = KEDGE_TRY(link_.call("GET", path("/control")));
  return Control{parse_sweep_state(answer.value("state", "")).value_or(SweepState::Running),
                 answer.value("reason", "")};
}

Result<void> RemoteSweep::write_control(const Control& control) {
  KEDGE_TRY(link_.call("PUT", path("/control"),
                       {{"state", name_of(control.state)}, {"reason", control.reason}}));
  return {};
}

Result<std::vector<TrialView>> RemoteSweep::read_trials() {
  const nlohmann::json answer = KEDGE_TRY(link_.call("GET", path("/trials")));
  std::vector<TrialView> trials;
  holders_ = nlohmann::json::object();
  for (const nlohmann::json& json : answer.value("trials", nlohmann::json::array())) {
    trials.push_back(parse_trial(json));
    if (const std::string holder = json.value("holder", ""); !holder.empty()) {
      holders_[std::to_string(trials.back().trial.number)] = holder;
    }
  }
  return trials;
}

// Holders that were processes of this machine and are no more: others need not wait until their
// silence has been long enough.
nlohmann::json RemoteSweep::find_dead() const {
  nlohmann::json dead = nlohmann::json::array();
  for (const auto& [number, holder] : holders_.items()) {
    const Path folder = trial_path(std::stoll(number));
    const auto note = read_json(folder / "lease.json");
    if (!note || note->value("agent", "") != holder.get<std::string>()) {
      continue;
    }
    const auto attempts = track::list_attempts(folder);
    if (!attempts.empty() && attempts.back().number == note->value("attempt", 0) &&
        attempts.back().state == "killed") {
      dead.push_back(holder);
    }
  }
  return dead;
}

Result<Claim> RemoteSweep::claim() {
  const nlohmann::json answer =
      KEDGE_TRY(link_.call("POST", path("/claim"), {{"agent", agent_}, {"dead", find_dead()}}));
  Claim claim;
  claim.end = answer.value("end", "");
  claim.open_count = answer.value("open", std::int64_t{0});
  claim.job = KEDGE_TRY(accept(answer));
  return claim;
}

// What the server gave is also taken on this machine: whoever still works on it here keeps it.
Result<std::optional<Job>> RemoteSweep::accept(const nlohmann::json& answer) {
  const auto given = answer.find("trial");
  if (given == answer.end() || !given->is_object()) {
    return std::nullopt;
  }
  Job job;
  job.view = parse_trial(*given);
  job.is_promoted = answer.value("promoted", false);
  const std::int64_t number = job.view.trial.number;
  auto attempt = track::Attempt::take(trial_path(number), {.may_wait = false});
  if (!attempt) {
    KEDGE_TRY(act(number, "release"));
    return attempt.error().kind == ErrorKind::Unavailable ? Result<std::optional<Job>>(std::nullopt)
                                                          : std::unexpected(attempt.error());
  }
  const nlohmann::json note = {{"agent", agent_}, {"attempt", attempt->number()}};
  KEDGE_TRY(write_file_atomic(trial_path(number) / "lease.json", note.dump() + "\n"));
  job.lease = std::make_unique<RemoteLease>(
      RemoteLease::Terms{.address = place_.address,
                         .path = fmt::format("{}/trials/{}", path(), number),
                         .agent = agent_,
                         .attempts = job.view.trial.attempts,
                         .spent_s = answer.value("spent_s", 0.0)},
      std::move(*attempt));
  return job;
}

Result<nlohmann::json> RemoteSweep::act(std::int64_t number, const std::string& what,
                                        nlohmann::json body) {
  body["agent"] = agent_;
  return link_.call("POST", path(fmt::format("/trials/{}/{}", number, what)), body);
}

Result<bool> RemoteSweep::add_result(std::int64_t number, const TrialResult& result) {
  const auto answer = KEDGE_TRY(act(number, "result", {{"result", result_json(result)}}));
  return answer.value("is_ours", false);
}

Result<void> RemoteSweep::write_progress(std::int64_t number, const std::vector<double>& curve) {
  KEDGE_TRY(act(number, "progress", {{"curve", curve}}));
  return {};
}

Result<void> RemoteSweep::pause(std::int64_t number) {
  KEDGE_TRY(act(number, "pause"));
  return {};
}

Result<bool> RemoteSweep::retry(std::int64_t number) {
  return KEDGE_TRY(act(number, "retry")).value("is_open", false);
}

Result<bool> RemoteSweep::add_finished(std::int64_t number, const TrialView& view,
                                       const std::string& from) {
  TrialView taken = view;
  taken.trial.number = number;
  if (taken.result->reused.empty() && from != facts_.id) {
    taken.result->reused = fmt::format("{}/{}", from, view.trial.number);
  }
  const auto answer = KEDGE_TRY(link_.call("POST", path("/trials"), render_trial(taken)));
  return answer.value("is_added", false);
}

std::optional<TrialResult> RemoteSweep::find_known(const nlohmann::json& values) {
  const auto answer = link_.call("POST", path("/known"), {{"values", values}});
  if (!answer || !answer->contains("result") || !(*answer)["result"].is_object()) {
    return std::nullopt;
  }
  return parse_result((*answer)["result"]);
}

std::vector<std::pair<std::string, std::string>> RemoteSweep::variables() const {
  std::vector<std::pair<std::string, std::string>> variables = {
      {"KEDGE_SERVER", place_.address.url}, {"KEDGE__TRACK__SERVER", place_.address.url}};
  if (!place_.address.token.empty()) {
    variables.emplace_back("KEDGE_TOKEN", place_.address.token);
  }
  return variables;
}

}  // namespace kedge::sweep
