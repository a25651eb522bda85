#include "store/hosted_sweeps.h"

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "store/internal/first_of.h"
#include "store/internal/tables.h"
#include "store/internal/text.h"

namespace kedge::store {
namespace {

constexpr std::array<std::string_view, 5> kSweepStates = {"PENDING", "RUNNING", "PAUSED",
                                                          "FINISHED", "CANCELED"};

constexpr std::string_view kSelectSweep =
    "SELECT id, project, name, display_name, description, config, state, created_us, changed_us,"
    " facts, reason FROM hosted_sweeps WHERE ";

constexpr std::string_view kSelectTrials =
    "SELECT number, run_id, agent, trial_values, holder, attempts, failures, is_paused, began_us,"
    " spent_us, result, ended_by, curve FROM sweep_trials WHERE ";

Result<std::vector<HostedSweep>> read_sweeps(const Store& store, std::string_view condition,
                                             std::initializer_list<SqlValue> values) {
  std::vector<HostedSweep> found;
  KEDGE_TRY(Tables(store).read([&](Database& database) {
    found.clear();
    return database.query(
        fmt::format("{}{} ORDER BY id DESC", kSelectSweep, condition), values,
        [&](const SqlRow& row) -> Result<void> {
          found.push_back({.id = row.integer(0),
                           .project = row.string(1),
                           .name = row.string(2),
                           .display_name = row.string(3),
                           .description = row.string(4),
                           .config = row.string(5),
                           .facts = row.string(9),
                           .reason = row.string(10),
                           .state = parse_sweep_state(row.text(6)).value_or(SweepState::Pending),
                           .created_us = row.integer(7),
                           .changed_us = row.integer(8)});
          return {};
        });
  }));
  return found;
}

Result<std::vector<SweepAgent>> read_agents(const Store& store, std::string_view condition,
                                            std::int64_t value) {
  std::vector<SweepAgent> found;
  KEDGE_TRY(Tables(store).read([&](Database& database) {
    found.clear();
    return database.query(
        fmt::format("SELECT id, sweep, host, created_us, heartbeat_us FROM sweep_agents"
                    " WHERE {} = $1 ORDER BY id",
                    condition),
        {value}, [&](const SqlRow& row) -> Result<void> {
          found.push_back(
              {row.integer(0), row.integer(1), row.string(2), row.integer(3), row.integer(4)});
          return {};
        });
  }));
  return found;
}

Result<void> read_trials(Database& database, std::string_view condition,
                         std::initializer_list<SqlValue> values, std::vector<SweepTrial>& found) {
  return database.query(fmt::format("{}{}", kSelectTrials, condition), values,
                        [&](const SqlRow& row) -> Result<void> {
                          SweepTrial trial{.number = row.integer(0),
                                           .run_id = row.string(1),
                                           .agent = row.integer(2),
                                           .values = KEDGE_TRY(parse_json(row.text(3))),
                                           .holder = row.string(4),
                                           .attempts = row.integer(5),
                                           .failures = row.integer(6),
                                           .is_paused = row.integer(7) != 0,
                                           .began_us = row.integer(8),
                                           .spent_us = row.integer(9),
                                           .result = {},
                                           .ended_by = row.string(11),
                                           .curve = KEDGE_TRY(parse_json(row.text(12)))};
                          if (!row.text(10).empty()) {
                            trial.result = KEDGE_TRY(parse_json(row.text(10)));
                          }
                          found.push_back(std::move(trial));
                          return {};
                        });
}

std::string render_result(const SweepTrial& trial) {
  return trial.result.is_null() ? "" : render_json(trial.result);
}

}  // namespace

std::string_view name_of(SweepState state) {
  return kSweepStates[static_cast<std::size_t>(state)];
}

std::optional<SweepState> parse_sweep_state(std::string_view name) {
  for (std::size_t i = 0; i < kSweepStates.size(); ++i) {
    if (kSweepStates[i] == name) {
      return static_cast<SweepState>(i);
    }
  }
  return std::nullopt;
}

Result<HostedSweep> HostedSweeps::create(const HostedSweep& sweep, std::int64_t now_us) {
  KEDGE_TRY(Tables(store_).change([&](Database& database) {
    return database.run(
        "INSERT INTO hosted_sweeps (project, name, display_name, description, config, state,"
        " created_us, changed_us, facts, reason) VALUES ($1, $2, $3, $4, $5, $6, $7, $7, $8, $9)",
        {sweep.project, sweep.name, make_valid_text(sweep.display_name),
         make_valid_text(sweep.description), make_valid_text(sweep.config), name_of(sweep.state),
         now_us, sweep.facts, make_valid_text(sweep.reason)});
  }));
  auto made = KEDGE_TRY(find(sweep.project, sweep.name));
  KEDGE_CHECK(made.has_value(), "a sweep that was written is there");
  return std::move(*made);
}

Result<void> HostedSweeps::put(const HostedSweep& sweep, std::int64_t now_us) {
  return Tables(store_).change([&](Database& database) {
    return database.run(
        "UPDATE hosted_sweeps SET display_name = $2, description = $3, config = $4, state = $5,"
        " changed_us = $6, reason = $7 WHERE id = $1",
        {sweep.id, make_valid_text(sweep.display_name), make_valid_text(sweep.description),
         make_valid_text(sweep.config), name_of(sweep.state), now_us,
         make_valid_text(sweep.reason)});
  });
}

Result<std::vector<HostedSweep>> HostedSweeps::list(const std::string& project) const {
  return read_sweeps(store_, "project = $1", {project});
}

Result<std::vector<HostedSweep>> HostedSweeps::list() const {
  return read_sweeps(store_, "id > $1", {std::int64_t{0}});
}

Result<std::optional<HostedSweep>> HostedSweeps::find(const std::string& project,
                                                      const std::string& name) const {
  return first_of(KEDGE_TRY(read_sweeps(store_, "project = $1 AND name = $2", {project, name})));
}

Result<std::optional<HostedSweep>> HostedSweeps::find(std::int64_t id) const {
  return first_of(KEDGE_TRY(read_sweeps(store_, "id = $1", {id})));
}

Result<SweepAgent> HostedSweeps::add_agent(std::int64_t sweep, const std::string& host,
                                           std::int64_t now_us) {
  SweepAgent agent{
      .id = 0, .sweep = sweep, .host = host, .created_us = now_us, .heartbeat_us = now_us};
  KEDGE_TRY(Tables(store_).change([&](Database& database) {
    return database.query(
        "INSERT INTO sweep_agents (sweep, host, created_us, heartbeat_us)"
        " VALUES ($1, $2, $3, $3) RETURNING id",
        {sweep, make_valid_text(host), now_us}, [&](const SqlRow& row) -> Result<void> {
          agent.id = row.integer(0);
          return {};
        });
  }));
  return agent;
}

Result<std::optional<SweepAgent>> HostedSweeps::find_agent(std::int64_t id) const {
  return first_of(KEDGE_TRY(read_agents(store_, "id", id)));
}

Result<std::vector<SweepAgent>> HostedSweeps::list_agents(std::int64_t sweep) const {
  return read_agents(store_, "sweep", sweep);
}

Result<void> HostedSweeps::note_agent(std::int64_t id, std::int64_t now_us) {
  return Tables(store_).change([&](Database& database) {
    return database.run("UPDATE sweep_agents SET heartbeat_us = $2 WHERE id = $1", {id, now_us});
  });
}

Result<std::vector<SweepTrial>> HostedSweeps::list_trials(std::int64_t sweep) const {
  std::vector<SweepTrial> found;
  KEDGE_TRY(Tables(store_).read([&](Database& database) {
    found.clear();
    return read_trials(database, "sweep = $1 ORDER BY number", {sweep}, found);
  }));
  return found;
}

Result<std::optional<SweepTrial>> HostedSweeps::find_trial(std::int64_t sweep,
                                                           std::int64_t number) const {
  std::vector<SweepTrial> found;
  KEDGE_TRY(Tables(store_).read([&](Database& database) {
    found.clear();
    return read_trials(database, "sweep = $1 AND number = $2", {sweep, number}, found);
  }));
  return first_of(std::move(found));
}

Result<void> HostedSweeps::add_trial(std::int64_t sweep, const SweepTrial& trial) {
  return Tables(store_).change([&](Database& database) {
    return database.run(
        "INSERT INTO sweep_trials (sweep, number, run_id, agent, trial_values, holder, attempts,"
        " failures, is_paused, began_us, spent_us, result, ended_by, curve)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
        {sweep, trial.number, trial.run_id, trial.agent, render_json(trial.values), trial.holder,
         trial.attempts, trial.failures, std::int64_t{trial.is_paused ? 1 : 0}, trial.began_us,
         trial.spent_us, render_result(trial), trial.ended_by, render_json(trial.curve)});
  });
}

Result<void> HostedSweeps::edit_trial(std::int64_t sweep, std::int64_t number,
                                      const std::function<Result<void>(SweepTrial&)>& edit) {
  return Tables(store_).change([&](Database& database) -> Result<void> {
    std::vector<SweepTrial> found;
    KEDGE_TRY(read_trials(database, "sweep = $1 AND number = $2", {sweep, number}, found));
    if (found.empty()) {
      return fail(ErrorKind::NotFound, fmt::format("the sweep has no trial {}", number));
    }
    SweepTrial& trial = found.front();
    KEDGE_TRY(edit(trial));
    return database.run(
        "UPDATE sweep_trials SET holder = $3, attempts = $4, failures = $5, is_paused = $6,"
        " began_us = $7, spent_us = $8, result = $9, ended_by = $10, curve = $11"
        " WHERE sweep = $1 AND number = $2",
        {sweep, number, trial.holder, trial.attempts, trial.failures,
         std::int64_t{trial.is_paused ? 1 : 0}, trial.began_us, trial.spent_us,
         render_result(trial), trial.ended_by, render_json(trial.curve)});
  });
}

}  // namespace kedge::store
