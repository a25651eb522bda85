#include "store/internal/run_rows.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/result.h"
#include "store/internal/database.h"
#include "store/internal/text.h"

namespace kedge::store {
namespace {

constexpr std::array<std::string_view, 4> kColumns = {"config", "summary", "labels",
                                                      "environment"};  // by Document

// The columns that visit_run() reads.
#define KEDGE_SELECT_RUNS                                                                \
  "SELECT r.id, d.config, d.summary, p.name, r.run_id, r.name, r.state, r.created_us,"   \
  " r.ended_us, r.heartbeat_us, r.user_name, r.host, r.group_name, r.job_type, r.notes," \
  " r.tags, r.source, r.attempt, r.last_step, r.parent, r.sweep, r.config_hash,"         \
  " r.deleted_us, d.labels"                                                              \
  " FROM runs r JOIN projects p ON p.id = r.project_id JOIN run_documents d ON d.run = r.id"

RunFacts read_facts(const SqlRow& row, int at) {
  RunFacts facts;
  facts.project = row.string(at++);
  facts.id = row.string(at++);
  facts.name = row.string(at++);
  facts.state = parse_run_state(row.text(at++)).value_or(RunState::Crashed);
  facts.created_us = row.integer(at++);
  facts.ended_us = row.integer(at++);
  facts.heartbeat_us = row.integer(at++);
  facts.user = row.string(at++);
  facts.host = row.string(at++);
  facts.group = row.string(at++);
  facts.job_type = row.string(at++);
  facts.notes = row.string(at++);
  if (const std::string_view text = row.text(at++); text != "[]") {
    const auto tags = nlohmann::json::parse(text, nullptr, false);
    facts.tags = tags.is_array() ? tags.get<std::vector<std::string>>() : facts.tags;
  }
  facts.source = row.string(at++);
  facts.attempt = static_cast<int>(row.integer(at++));
  facts.last_step = row.optional(at++);
  facts.parent = row.string(at++);
  facts.sweep = row.string(at++);
  facts.config_hash = row.string(at++);
  facts.deleted_us = row.integer(at++);
  return facts;
}

Result<void> visit_run(const SqlRow& row, const RunVisitor& visit) {
  RunFacts facts = read_facts(row, 3);
  return visit(row.integer(0), std::move(facts),
               {.config = row.text(1), .summary = row.text(2), .labels = row.text(23)});
}

}  // namespace

Result<std::int64_t> insert_run(Database& database, std::int64_t project, const RunFacts& facts) {
  const std::int64_t row = KEDGE_TRY(database.query_integer(
      "INSERT INTO runs (project_id, run_id, name, state, created_us, ended_us, heartbeat_us,"
      " user_name, host, group_name, job_type, notes, tags, source, attempt, parent, sweep,"
      " config_hash) VALUES ($1, $2, '', 'running', 0, 0, 0, '', '', '', '', '', '[]', '', 1, '',"
      " '', '') RETURNING id",
      {project, facts.id}));
  KEDGE_TRY(
      database.run("INSERT INTO run_documents (run, config, summary, environment) "
                   "VALUES ($1, '{}', '{}', '{}')",
                   {row}));
  return row;
}

Result<void> update_run(Database& database, std::int64_t row, const RunFacts& facts) {
  const std::string tags = render_json(facts.tags);
  return database.run(
      "UPDATE runs SET name = $2, state = $3, created_us = $4, ended_us = $5, heartbeat_us = $6,"
      " user_name = $7, host = $8, group_name = $9, job_type = $10, notes = $11, tags = $12,"
      " source = $13, attempt = $14, last_step = $15, parent = $16, sweep = $17,"
      " config_hash = $18, deleted_us = $19 WHERE id = $1",
      {row, facts.name, name_of(facts.state), facts.created_us, facts.ended_us, facts.heartbeat_us,
       facts.user, facts.host, facts.group, facts.job_type, facts.notes, tags, facts.source,
       facts.attempt, facts.last_step, facts.parent, facts.sweep, facts.config_hash,
       facts.deleted_us});
}

Result<void> visit_document(Database& database, std::int64_t row, Document document,
                            const std::function<Result<void>(std::string_view text)>& visit) {
  const std::string sql = fmt::format("SELECT {} FROM run_documents WHERE run = $1",
                                      kColumns[static_cast<std::size_t>(document)]);
  return database.query(sql, {row}, [&](const SqlRow& answer) { return visit(answer.text(0)); });
}

Result<nlohmann::json> read_document(Database& database, std::int64_t row, Document document) {
  nlohmann::json json = nlohmann::json::object();
  KEDGE_TRY(visit_document(database, row, document, [&](std::string_view text) -> Result<void> {
    json = KEDGE_TRY(parse_json(text));
    return {};
  }));
  return json;
}

Result<void> write_document(Database& database, std::int64_t row, Document document,
                            const nlohmann::json& json) {
  return database.run(fmt::format("UPDATE run_documents SET {} = $2 WHERE run = $1",
                                  kColumns[static_cast<std::size_t>(document)]),
                      {row, render_json(json)});
}

Result<void> read_runs(Database& database, const RunVisitor& visit) {
  return database.query(KEDGE_SELECT_RUNS " ORDER BY r.id", {},
                        [&](const SqlRow& row) { return visit_run(row, visit); });
}

Result<void> read_run(Database& database, const RunKey& key, const RunVisitor& visit) {
  return database.query(KEDGE_SELECT_RUNS " WHERE p.name = $1 AND r.run_id = $2",
                        {key.project, key.id},
                        [&](const SqlRow& row) { return visit_run(row, visit); });
}

RunFile read_file_row(const SqlRow& row) {
  return {.path = row.string(0), .size = row.count(1), .digest = row.string(2)};
}

Result<std::vector<Attempt>> read_attempts(Database& database, std::int64_t run) {
  return database.list(
      "SELECT number, host, started_us, ended_us, state, from_step, changes FROM attempts "
      "WHERE run = $1 ORDER BY number",
      {run}, [](const SqlRow& row) -> Result<Attempt> {
        return Attempt{.number = static_cast<int>(row.integer(0)),
                       .host = row.string(1),
                       .started_us = row.integer(2),
                       .ended_us = row.integer(3),
                       .state = row.string(4),
                       .from_step = row.optional(5),
                       .changes = KEDGE_TRY(parse_json(row.text(6)))};
      });
}

void settle_attempts(std::vector<Attempt>& attempts, const RunFacts& facts) {
  for (Attempt& attempt : attempts) {
    if (attempt.state != "running") {
      continue;
    }
    if (&attempt != &attempts.back()) {
      attempt.state = "interrupted";
    } else if (facts.state != RunState::Running) {
      attempt.state = name_of(facts.state);
      attempt.ended_us = facts.ended_us;
    }
  }
}

Result<void> write_attempt(Database& database, std::int64_t run, const Attempt& attempt) {
  return database.run(
      "INSERT INTO attempts (run, number, host, started_us, ended_us, state, from_step, changes) "
      "VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (run, number) DO UPDATE SET"
      " host = excluded.host, started_us = excluded.started_us, ended_us = excluded.ended_us,"
      " state = excluded.state, from_step = coalesce(excluded.from_step, attempts.from_step),"
      " changes = excluded.changes",
      {run, attempt.number, attempt.host, attempt.started_us, attempt.ended_us, attempt.state,
       attempt.from_step, render_json(attempt.changes)});
}

}  // namespace kedge::store
