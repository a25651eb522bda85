#include "store/internal/schema.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "core/log.h"
#include "core/result.h"
#include "store/internal/database.h"

namespace kedge::store {
namespace {

constexpr auto kRunsAndCurves = std::to_array<std::string_view>({
    "CREATE TABLE projects (id {id}, name TEXT NOT NULL UNIQUE)",

    // tags: a JSON array.
    "CREATE TABLE runs (id {id}, project_id BIGINT NOT NULL REFERENCES projects (id),"
    " run_id TEXT NOT NULL, name TEXT NOT NULL, state TEXT NOT NULL,"
    " created_us BIGINT NOT NULL, ended_us BIGINT NOT NULL, heartbeat_us BIGINT NOT NULL,"
    " user_name TEXT NOT NULL, host TEXT NOT NULL, group_name TEXT NOT NULL,"
    " job_type TEXT NOT NULL, notes TEXT NOT NULL, tags TEXT NOT NULL, source TEXT NOT NULL,"
    " attempt BIGINT NOT NULL, last_step BIGINT, parent TEXT NOT NULL, sweep TEXT NOT NULL,"
    " config_hash TEXT NOT NULL, UNIQUE (project_id, run_id))",

    // JSON. Apart from the facts, which change with every commit and must stay small. summary: only
    // what was set by hand.
    "CREATE TABLE run_documents (run BIGINT PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,"
    " config TEXT NOT NULL, summary TEXT NOT NULL, environment TEXT NOT NULL)",

    "CREATE TABLE attempts (run BIGINT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,"
    " number BIGINT NOT NULL, host TEXT NOT NULL, started_us BIGINT NOT NULL,"
    " ended_us BIGINT NOT NULL, state TEXT NOT NULL, from_step BIGINT, changes TEXT NOT NULL,"
    " PRIMARY KEY (run, number))",

    // point_count: of all points in chunks. The rest is what the points come to that no later
    // attempt has replaced, those in the journal not yet included.
    "CREATE TABLE series (id {id}, run BIGINT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,"
    " attempt BIGINT NOT NULL, kind BIGINT NOT NULL, name TEXT NOT NULL,"
    " point_count BIGINT NOT NULL, kept_count BIGINT NOT NULL, last_value DOUBLE PRECISION,"
    " min_value DOUBLE PRECISION, max_value DOUBLE PRECISION, last_step BIGINT NOT NULL,"
    " first_us BIGINT NOT NULL, last_us BIGINT NOT NULL, max_step BIGINT NOT NULL,"
    " UNIQUE (run, kind, name, attempt))",

    // first_point: the place of the chunk's first point in the series, from 0.
    "CREATE TABLE chunks (series BIGINT NOT NULL REFERENCES series (id) ON DELETE CASCADE,"
    " first_point BIGINT NOT NULL, point_count BIGINT NOT NULL, min_step BIGINT NOT NULL,"
    " max_step BIGINT NOT NULL, sketch {blob} NOT NULL, data {blob} NOT NULL,"
    " PRIMARY KEY (series, first_point))",

    "CREATE TABLE journal (id {id}, run BIGINT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,"
    " data {blob} NOT NULL)",
    "CREATE INDEX journal_run ON journal (run)",

    "CREATE TABLE sources (run BIGINT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,"
    " writer TEXT NOT NULL, next_seq BIGINT NOT NULL, byte_offset BIGINT NOT NULL,"
    " digest TEXT NOT NULL, PRIMARY KEY (run, writer))",

    // is_packed: the body is zstd; otherwise it is JSON as it stands.
    "CREATE TABLE records (id {id}, run BIGINT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,"
    " attempt BIGINT NOT NULL, type TEXT NOT NULL, name TEXT NOT NULL, step BIGINT NOT NULL,"
    " time_us BIGINT NOT NULL, is_packed BIGINT NOT NULL, body {blob} NOT NULL)",
    "CREATE INDEX records_run ON records (run, type, name, step)",
    "CREATE INDEX records_type ON records (type, time_us)",

    "CREATE TABLE console (run BIGINT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,"
    " first_line BIGINT NOT NULL, line_count BIGINT NOT NULL, byte_count BIGINT NOT NULL,"
    " data {blob} NOT NULL, PRIMARY KEY (run, first_line))",

    "CREATE TABLE files (run BIGINT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,"
    " path TEXT NOT NULL, size BIGINT NOT NULL, digest TEXT NOT NULL, PRIMARY KEY (run, path))",
    "CREATE INDEX files_digest ON files (digest)",

    "CREATE TABLE views (id TEXT PRIMARY KEY, name TEXT NOT NULL, project TEXT NOT NULL,"
    " view TEXT NOT NULL, changed_us BIGINT NOT NULL)",

    "CREATE TABLE audit (id {id}, time_us BIGINT NOT NULL, who TEXT NOT NULL, what TEXT NOT NULL,"
    " target TEXT NOT NULL, detail TEXT NOT NULL)",
});

constexpr std::array<std::string_view, 10> kArtifactsAndModels = {
    "CREATE TABLE artifacts (id {id}, project TEXT NOT NULL, name TEXT NOT NULL,"
    " type TEXT NOT NULL, description TEXT NOT NULL, created_us BIGINT NOT NULL,"
    " next_version BIGINT NOT NULL, UNIQUE (project, name))",

    // made_in, made_by: project and id of a run, or empty. digest: of the list of files.
    "CREATE TABLE artifact_versions (id {id},"
    " artifact BIGINT NOT NULL REFERENCES artifacts (id) ON DELETE CASCADE,"
    " version BIGINT NOT NULL, digest TEXT NOT NULL, description TEXT NOT NULL,"
    " metadata TEXT NOT NULL, size BIGINT NOT NULL, file_count BIGINT NOT NULL,"
    " created_us BIGINT NOT NULL, made_in TEXT NOT NULL, made_by TEXT NOT NULL,"
    " UNIQUE (artifact, version))",
    "CREATE INDEX artifact_versions_maker ON artifact_versions (made_by, made_in)",

    "CREATE TABLE artifact_files ("
    " version BIGINT NOT NULL REFERENCES artifact_versions (id) ON DELETE CASCADE,"
    " path TEXT NOT NULL, digest TEXT NOT NULL, size BIGINT NOT NULL, reference TEXT NOT NULL,"
    " PRIMARY KEY (version, path))",
    "CREATE INDEX artifact_files_digest ON artifact_files (digest)",

    "CREATE TABLE artifact_aliases ("
    " artifact BIGINT NOT NULL REFERENCES artifacts (id) ON DELETE CASCADE,"
    " alias TEXT NOT NULL,"
    " version BIGINT NOT NULL REFERENCES artifact_versions (id) ON DELETE CASCADE,"
    " PRIMARY KEY (artifact, alias))",

    "CREATE TABLE artifact_uses ("
    " version BIGINT NOT NULL REFERENCES artifact_versions (id) ON DELETE CASCADE,"
    " project TEXT NOT NULL, run_id TEXT NOT NULL, time_us BIGINT NOT NULL,"
    " PRIMARY KEY (version, project, run_id))",
    "CREATE INDEX artifact_uses_run ON artifact_uses (run_id, project)",

    // Texts hold JSON: tags (an object), aliases of a model (alias -> version).
    "CREATE TABLE models (name TEXT PRIMARY KEY, description TEXT NOT NULL, tags TEXT NOT NULL,"
    " aliases TEXT NOT NULL, created_us BIGINT NOT NULL, changed_us BIGINT NOT NULL,"
    " next_version BIGINT NOT NULL)",

    "CREATE TABLE model_versions ("
    " model TEXT NOT NULL REFERENCES models (name) ON DELETE CASCADE ON UPDATE CASCADE,"
    " version BIGINT NOT NULL, source TEXT NOT NULL, run_id TEXT NOT NULL, stage TEXT NOT NULL,"
    " description TEXT NOT NULL, tags TEXT NOT NULL, user_name TEXT NOT NULL,"
    " created_us BIGINT NOT NULL, changed_us BIGINT NOT NULL, PRIMARY KEY (model, version))",
};

// password: a slow hash. grants: tokens, sessions and links by the hash of their secret.
constexpr std::array<std::string_view, 2> kAccess = {
    "CREATE TABLE users (name TEXT PRIMARY KEY, role TEXT NOT NULL, password TEXT NOT NULL,"
    " created_us BIGINT NOT NULL)",

    "CREATE TABLE grants (hash TEXT PRIMARY KEY, id TEXT NOT NULL, kind BIGINT NOT NULL,"
    " user_name TEXT NOT NULL, label TEXT NOT NULL, role TEXT NOT NULL, project TEXT NOT NULL,"
    " run_id TEXT NOT NULL, created_us BIGINT NOT NULL, expires_us BIGINT NOT NULL)",
};

// What other tools' clients know of projects and runs. labels: a JSON object of texts. deleted_us:
// 0 for what is not in the trash. Project 0 is where clients put runs that name no project.
constexpr std::array<std::string_view, 7> kLabelsAndTrash = {
    "ALTER TABLE projects ADD COLUMN labels TEXT NOT NULL DEFAULT '{}'",
    "ALTER TABLE projects ADD COLUMN artifact_root TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE projects ADD COLUMN created_us BIGINT NOT NULL DEFAULT 0",
    "ALTER TABLE projects ADD COLUMN changed_us BIGINT NOT NULL DEFAULT 0",
    "ALTER TABLE projects ADD COLUMN deleted_us BIGINT NOT NULL DEFAULT 0",
    "ALTER TABLE runs ADD COLUMN deleted_us BIGINT NOT NULL DEFAULT 0",
    "ALTER TABLE run_documents ADD COLUMN labels TEXT NOT NULL DEFAULT '{}'",
};

// What MLflow's clients log besides values. tags, params and info: JSON.
constexpr std::array<std::string_view, 15> kMlflow = {
    "CREATE TABLE datasets (id {id},"
    " project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,"
    " name TEXT NOT NULL, digest TEXT NOT NULL, source_type TEXT NOT NULL, source TEXT NOT NULL,"
    " schema_text TEXT NOT NULL, profile TEXT NOT NULL, UNIQUE (project_id, name, digest))",

    "CREATE TABLE run_inputs (run BIGINT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,"
    " dataset BIGINT NOT NULL REFERENCES datasets (id) ON DELETE CASCADE, tags TEXT NOT NULL,"
    " PRIMARY KEY (run, dataset))",

    // direction: 0 what the run was given, 1 what it made.
    "CREATE TABLE run_models (run BIGINT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,"
    " direction BIGINT NOT NULL, model_id TEXT NOT NULL, step BIGINT NOT NULL,"
    " PRIMARY KEY (run, direction, model_id))",

    "CREATE TABLE logged_models (id TEXT PRIMARY KEY,"
    " project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,"
    " name TEXT NOT NULL, model_type TEXT NOT NULL, source_run TEXT NOT NULL,"
    " status BIGINT NOT NULL, created_us BIGINT NOT NULL, changed_us BIGINT NOT NULL,"
    " deleted_us BIGINT NOT NULL, tags TEXT NOT NULL, params TEXT NOT NULL)",
    "CREATE INDEX logged_models_project ON logged_models (project_id)",

    // value: 0 where is_nan is 1, because two NULLs are never the same.
    "CREATE TABLE logged_model_metrics ("
    " model_id TEXT NOT NULL REFERENCES logged_models (id) ON DELETE CASCADE,"
    " run_id TEXT NOT NULL, name TEXT NOT NULL, value DOUBLE PRECISION NOT NULL,"
    " is_nan BIGINT NOT NULL, time_ms BIGINT NOT NULL, step BIGINT NOT NULL,"
    " dataset_name TEXT NOT NULL, dataset_digest TEXT NOT NULL,"
    " PRIMARY KEY (model_id, run_id, name, time_ms, step, value, is_nan, dataset_name,"
    " dataset_digest))",

    // Artifacts that belong to no run. shelf: "models/ID" for those of a logged model.
    "CREATE TABLE loose_files (shelf TEXT NOT NULL, path TEXT NOT NULL, size BIGINT NOT NULL,"
    " digest TEXT NOT NULL, PRIMARY KEY (shelf, path))",
    "CREATE INDEX loose_files_digest ON loose_files (digest)",

    "ALTER TABLE model_versions ADD COLUMN run_link TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE model_versions ADD COLUMN model_id TEXT NOT NULL DEFAULT ''",
    // Where the files are, when `source` is another name for it.
    "ALTER TABLE model_versions ADD COLUMN location TEXT NOT NULL DEFAULT ''",

    "CREATE TABLE traces (id TEXT PRIMARY KEY,"
    " project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,"
    " time_ms BIGINT NOT NULL, info TEXT NOT NULL)",
    "CREATE INDEX traces_project ON traces (project_id, time_ms)",
    // Spans may come before the trace's own facts.
    "CREATE TABLE trace_spans (trace TEXT NOT NULL, span TEXT NOT NULL, start_ns BIGINT NOT NULL,"
    " body TEXT NOT NULL, PRIMARY KEY (trace, span))",
    "CREATE TABLE trace_runs (trace TEXT NOT NULL, run_id TEXT NOT NULL,"
    " PRIMARY KEY (trace, run_id))",
};

// What other dialects' clients sent, as they sent it.
constexpr auto kTranscripts = std::to_array<std::string_view>({
    // Rows first_row .. first_row + row_count - 1 of a stream (0 history, 1 events), packed.
    "CREATE TABLE history_rows (run BIGINT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,"
    " stream BIGINT NOT NULL, first_row BIGINT NOT NULL, row_count BIGINT NOT NULL,"
    " byte_count BIGINT NOT NULL, min_step BIGINT NOT NULL, max_step BIGINT NOT NULL,"
    " data {blob} NOT NULL, PRIMARY KEY (run, stream, first_row))",

    "CREATE TABLE dialect_documents (run BIGINT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,"
    " name TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (run, name))",

    // The MD5 (base64) of blobs that came from a client that names them so.
    "CREATE TABLE blob_md5 (digest TEXT PRIMARY KEY, md5 TEXT NOT NULL)",
    "CREATE INDEX blob_md5_md5 ON blob_md5 (md5)",

    // What the server has to remember about itself: the key that signs addresses.
    "CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL)",

    // A version on its way, and afterwards what its client said of it. version: of the artifact
    // (project, name), NULL while it is pending. manifest: a blob. Texts hold JSON: metadata,
    // aliases, tags.
    "CREATE TABLE artifact_drafts (id {id}, project TEXT NOT NULL, name TEXT NOT NULL,"
    " type TEXT NOT NULL, digest TEXT NOT NULL, description TEXT NOT NULL, metadata TEXT NOT NULL,"
    " aliases TEXT NOT NULL, tags TEXT NOT NULL, ttl_s BIGINT, made_in TEXT NOT NULL,"
    " made_by TEXT NOT NULL, client_id TEXT NOT NULL, sequence_client_id TEXT NOT NULL,"
    " history_step BIGINT, state TEXT NOT NULL, version BIGINT, manifest TEXT NOT NULL,"
    " created_us BIGINT NOT NULL, changed_us BIGINT NOT NULL)",
    "CREATE INDEX artifact_drafts_version ON artifact_drafts (project, name, version)",
    "CREATE INDEX artifact_drafts_client ON artifact_drafts (client_id)",
    "CREATE INDEX artifact_drafts_sequence ON artifact_drafts (sequence_client_id)",
    "CREATE INDEX artifact_drafts_manifest ON artifact_drafts (manifest)",

    // digest: of the blob, empty until it has come.
    "CREATE TABLE artifact_draft_files ("
    " draft BIGINT NOT NULL REFERENCES artifact_drafts (id) ON DELETE CASCADE,"
    " path TEXT NOT NULL, md5 TEXT NOT NULL, digest TEXT NOT NULL, size BIGINT NOT NULL,"
    " PRIMARY KEY (draft, path))",
    "CREATE INDEX artifact_draft_files_digest ON artifact_draft_files (digest)",
    "CREATE INDEX artifact_draft_files_md5 ON artifact_draft_files (md5)",

    // Collections that versions are linked into; members are numbered in each by itself.
    "CREATE TABLE portfolios (id {id}, project TEXT NOT NULL, name TEXT NOT NULL,"
    " type TEXT NOT NULL, description TEXT NOT NULL, created_us BIGINT NOT NULL,"
    " next_member BIGINT NOT NULL, UNIQUE (project, name))",
    "CREATE TABLE portfolio_members ("
    " portfolio BIGINT NOT NULL REFERENCES portfolios (id) ON DELETE CASCADE,"
    " member BIGINT NOT NULL,"
    " version BIGINT NOT NULL REFERENCES artifact_versions (id) ON DELETE CASCADE,"
    " created_us BIGINT NOT NULL, PRIMARY KEY (portfolio, member), UNIQUE (portfolio, version))",
    "CREATE TABLE portfolio_aliases ("
    " portfolio BIGINT NOT NULL, alias TEXT NOT NULL, member BIGINT NOT NULL,"
    " PRIMARY KEY (portfolio, alias), FOREIGN KEY (portfolio, member)"
    " REFERENCES portfolio_members (portfolio, member) ON DELETE CASCADE)",
    "CREATE TABLE collection_tags (project TEXT NOT NULL, name TEXT NOT NULL, tag TEXT NOT NULL,"
    " PRIMARY KEY (project, name, tag))",

    // Sweeps whose trials the server hands out. config: a sweep file.
    "CREATE TABLE hosted_sweeps (id {id}, project TEXT NOT NULL, name TEXT NOT NULL,"
    " display_name TEXT NOT NULL, description TEXT NOT NULL, config TEXT NOT NULL,"
    " state TEXT NOT NULL, created_us BIGINT NOT NULL, changed_us BIGINT NOT NULL,"
    " UNIQUE (project, name))",
    "CREATE TABLE sweep_agents (id {id},"
    " sweep BIGINT NOT NULL REFERENCES hosted_sweeps (id) ON DELETE CASCADE,"
    " host TEXT NOT NULL, created_us BIGINT NOT NULL, heartbeat_us BIGINT NOT NULL)",
    // values: what the trial was given (JSON); run_id: the run that has it.
    "CREATE TABLE sweep_trials (sweep BIGINT NOT NULL REFERENCES hosted_sweeps (id)"
    " ON DELETE CASCADE, number BIGINT NOT NULL, run_id TEXT NOT NULL, agent BIGINT NOT NULL,"
    " trial_values TEXT NOT NULL, PRIMARY KEY (sweep, number))",
});

constexpr auto kSweepTrials = std::to_array<std::string_view>({
    // facts: what agents of our own need (JSON); empty for a sweep of another tool's.
    "ALTER TABLE hosted_sweeps ADD COLUMN facts TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE hosted_sweeps ADD COLUMN reason TEXT NOT NULL DEFAULT ''",
    // holder: the agent that works on it, empty: nobody; result: JSON, empty while there is none;
    // curve: the metric as reported so far (JSON).
    "ALTER TABLE sweep_trials ADD COLUMN holder TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE sweep_trials ADD COLUMN attempts BIGINT NOT NULL DEFAULT 0",
    "ALTER TABLE sweep_trials ADD COLUMN failures BIGINT NOT NULL DEFAULT 0",
    "ALTER TABLE sweep_trials ADD COLUMN is_paused BIGINT NOT NULL DEFAULT 0",
    "ALTER TABLE sweep_trials ADD COLUMN began_us BIGINT NOT NULL DEFAULT 0",
    "ALTER TABLE sweep_trials ADD COLUMN spent_us BIGINT NOT NULL DEFAULT 0",
    "ALTER TABLE sweep_trials ADD COLUMN result TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE sweep_trials ADD COLUMN ended_by TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE sweep_trials ADD COLUMN curve TEXT NOT NULL DEFAULT '[]'",
});

// One tree of pages in place of a table and its index: a commit of points writes one page. id: the
// run's row in its upper half (journal.h); rows go when their run does, by the store's own hand.
constexpr auto kJournal = std::to_array<std::string_view>({
    "CREATE TABLE journal_rows (id {id}, data {blob} NOT NULL)",
    "INSERT INTO journal_rows (id, data) SELECT run * 4294967296 + id, data FROM journal",
    "DROP TABLE journal",
    "ALTER TABLE journal_rows RENAME TO journal",
});

// What only another tool's clients give a meaning to. kind: "mlflow.issue"; parent: what it is
// listed under, its experiment or its dataset; body: JSON.
constexpr auto kObjects = std::to_array<std::string_view>({
    "CREATE TABLE objects (kind TEXT NOT NULL, id TEXT NOT NULL,"
    " project_id BIGINT REFERENCES projects (id) ON DELETE CASCADE, parent TEXT NOT NULL,"
    " name TEXT NOT NULL, created_us BIGINT NOT NULL, body TEXT NOT NULL,"
    " PRIMARY KEY (kind, id))",
    "CREATE INDEX objects_parent ON objects (kind, parent, name)",
    "CREATE INDEX objects_project ON objects (project_id)",
});

// MLflow's GenAI half is no longer kept.
constexpr auto kWithoutGenAi = std::to_array<std::string_view>({
    "DROP TABLE trace_runs",
    "DROP TABLE trace_spans",
    "DROP TABLE traces",
    "DROP TABLE objects",
});

constexpr std::array<Migration, 10> kMigrations = {
    kRunsAndCurves, kArtifactsAndModels, kAccess,  kLabelsAndTrash, kMlflow,
    kTranscripts,   kSweepTrials,        kJournal, kObjects,        kWithoutGenAi};
constexpr std::size_t kBeforeGenAiGoes = 9;

// "2 mlflow.dataset, 1 trace": the rows that kWithoutGenAi drops, by kind. Empty: there are none.
Result<std::string> describe_genai_rows(Database& database) {
  std::string text;
  KEDGE_TRY(database.query(
      "SELECT kind, COUNT(*) FROM objects GROUP BY kind UNION ALL SELECT 'trace', COUNT(*) FROM"
      " traces UNION ALL SELECT 'trace span', COUNT(*) FROM trace_spans ORDER BY 1",
      {}, [&](const SqlRow& row) -> Result<void> {
        if (row.integer(1) > 0) {
          text += fmt::format("{}{} {}", text.empty() ? "" : ", ", row.integer(1), row.text(0));
        }
        return {};
      }));
  return text;
}

Result<void> apply(Database& database, std::size_t version) {
  KEDGE_TRY(database.run("BEGIN"));
  for (const std::string_view statement : kMigrations[version]) {
    if (auto done = database.run(statement); !done) {
      (void)database.run("ROLLBACK");  // the first error is the one to tell
      return done;
    }
  }
  auto done = database.run("UPDATE schema_version SET version = $1", {version + 1});
  if (done) {
    done = database.run("COMMIT");
  }
  if (!done) {
    (void)database.run("ROLLBACK");  // the first error is the one to tell
  }
  return done;
}

}  // namespace

std::span<const Migration> migrations() {
  return kMigrations;
}

Result<void> migrate(Database& database) {
  KEDGE_TRY(database.run("CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL)"));
  KEDGE_TRY(
      database.run("INSERT INTO schema_version (version) SELECT 0 "
                   "WHERE NOT EXISTS (SELECT 1 FROM schema_version)"));
  const std::int64_t found =
      KEDGE_TRY(database.query_integer("SELECT version FROM schema_version", {}));
  const auto newest = static_cast<std::int64_t>(kMigrations.size());
  if (found > newest) {
    return fail(ErrorKind::Unavailable,
                fmt::format("the store was made by a newer kedge: its schema is version {}, this "
                            "kedge knows {}",
                            found, newest),
                "use the newer kedge, or another --data");
  }
  for (auto version = static_cast<std::size_t>(found); version < kMigrations.size(); ++version) {
    const std::string dropped =
        version == kBeforeGenAiGoes ? KEDGE_TRY(describe_genai_rows(database)) : std::string();
    KEDGE_TRY(apply(database, version));
    if (!dropped.empty()) {
      warn("the store no longer keeps MLflow's traces and what belongs to them; dropped: {}",
           dropped);
    }
  }
  return {};
}

}  // namespace kedge::store
