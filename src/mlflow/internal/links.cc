#include "mlflow/internal/links.h"

#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "mlflow/internal/call.h"
#include "store/database.h"

namespace kedge::mlflow {
namespace {

using store::Database;
using store::SqlRow;

enum class Direction : std::uint8_t { Input, Output };

struct RunRow {
  std::int64_t run = 0;
  std::int64_t project = 0;
};

Result<std::optional<RunRow>> find_row(Database& database, const store::RunKey& run) {
  std::optional<RunRow> row;
  KEDGE_TRY(
      database.query("SELECT r.id, r.project_id FROM runs r JOIN projects p ON p.id = r.project_id"
                     " WHERE p.name = $1 AND r.run_id = $2",
                     {run.project, run.id}, [&](const SqlRow& found) -> Result<void> {
                       row = {.run = found.integer(0), .project = found.integer(1)};
                       return {};
                     }));
  return row;
}

Result<std::int64_t> put_dataset(Database& database, std::int64_t project, const Dataset& dataset) {
  KEDGE_TRY(database.run(
      "INSERT INTO datasets (project_id, name, digest, source_type, source, schema_text, profile)"
      " VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (project_id, name, digest) DO NOTHING",
      {project, dataset.name, dataset.digest, dataset.source_type, dataset.source, dataset.schema,
       dataset.profile}));
  return database.query_integer(
      "SELECT id FROM datasets WHERE project_id = $1 AND name = $2 AND digest = $3",
      {project, dataset.name, dataset.digest});
}

nlohmann::json tags_json(const KeyValues& tags) {
  nlohmann::json list = nlohmann::json::array();
  for (const auto& [key, value] : tags) {
    list.push_back({key, value});
  }
  return list;
}

KeyValues parse_tags(std::string_view text) {
  KeyValues tags;
  for (const nlohmann::json& tag : nlohmann::json::parse(text)) {  // written by us
    tags.emplace_back(tag.at(0).get<std::string>(), tag.at(1).get<std::string>());
  }
  return tags;
}

Result<void> put_models(Database& database, std::int64_t run, Direction direction,
                        const std::vector<ModelLink>& models) {
  for (const ModelLink& model : models) {
    KEDGE_TRY(database.run(
        "INSERT INTO run_models (run, direction, model_id, step) VALUES ($1, $2, $3, $4)"
        " ON CONFLICT (run, direction, model_id) DO NOTHING",
        {run, static_cast<std::int64_t>(direction), model.model_id, model.step}));
  }
  return {};
}

}  // namespace

Result<void> Links::load() {
  return store_.read([&](Database& database) -> Result<void> {
    return database.query(
        "SELECT run_id FROM runs"
        " WHERE id IN (SELECT run FROM run_inputs) OR id IN (SELECT run FROM run_models)",
        {}, [&](const SqlRow& row) -> Result<void> {
          const std::lock_guard lock(mutex_);
          linked_.insert(row.string(0));
          return {};
        });
  });
}

bool Links::has(const store::RunKey& run) const {
  const std::lock_guard lock(mutex_);
  return linked_.contains(run.id);
}

std::vector<std::string> Links::runs() const {
  const std::lock_guard lock(mutex_);
  return {linked_.begin(), linked_.end()};
}

Result<RunLinks> Links::find(const store::RunKey& run) const {
  RunLinks links;
  if (!has(run)) {
    return links;
  }
  KEDGE_TRY(store_.read([&](Database& database) -> Result<void> {
    links = {};
    const auto row = KEDGE_TRY(find_row(database, run));
    if (!row) {
      return {};
    }
    KEDGE_TRY(database.query(
        "SELECT d.name, d.digest, d.source_type, d.source, d.schema_text, d.profile, i.tags"
        " FROM run_inputs i JOIN datasets d ON d.id = i.dataset WHERE i.run = $1 ORDER BY d.id",
        {row->run}, [&](const SqlRow& found) -> Result<void> {
          links.datasets.push_back({.dataset = {.name = found.string(0),
                                                .digest = found.string(1),
                                                .source_type = found.string(2),
                                                .source = found.string(3),
                                                .schema = found.string(4),
                                                .profile = found.string(5)},
                                    .tags = parse_tags(found.text(6))});
          return {};
        }));
    return database.query(
        "SELECT direction, model_id, step FROM run_models WHERE run = $1 ORDER BY step, model_id",
        {row->run}, [&](const SqlRow& found) -> Result<void> {
          auto& list = found.integer(0) == 0 ? links.inputs : links.outputs;
          list.push_back({.model_id = found.string(1), .step = found.integer(2)});
          return {};
        });
  }));
  return links;
}

Result<void> Links::add(const store::RunKey& run, const RunLinks& links) {
  KEDGE_TRY(store_.change([&](Database& database) -> Result<void> {
    const auto row = KEDGE_TRY(find_row(database, run));
    if (!row) {
      return fail(ErrorKind::NotFound, fmt::format("Run with id={} not found", run.id));
    }
    for (const DatasetInput& input : links.datasets) {
      const std::int64_t dataset = KEDGE_TRY(put_dataset(database, row->project, input.dataset));
      KEDGE_TRY(
          database.run("INSERT INTO run_inputs (run, dataset, tags) VALUES ($1, $2, $3)"
                       " ON CONFLICT (run, dataset) DO NOTHING",
                       {row->run, dataset, server::dump(tags_json(input.tags))}));
    }
    KEDGE_TRY(put_models(database, row->run, Direction::Input, links.inputs));
    return put_models(database, row->run, Direction::Output, links.outputs);
  }));
  const std::lock_guard lock(mutex_);
  linked_.insert(run.id);
  return {};
}

Result<std::vector<DatasetSummary>> Links::summaries(const std::vector<std::int64_t>& projects,
                                                     std::size_t limit) const {
  std::set<std::tuple<std::int64_t, std::string, std::string, std::string>> seen;
  std::vector<DatasetSummary> list;
  KEDGE_TRY(store_.read([&](Database& database) -> Result<void> {
    seen.clear();
    list.clear();
    for (const std::int64_t project : projects) {
      KEDGE_TRY(database.query(
          "SELECT d.name, d.digest, i.tags FROM run_inputs i JOIN datasets d ON d.id = i.dataset"
          " JOIN runs r ON r.id = i.run WHERE r.project_id = $1 AND r.deleted_us = 0"
          " ORDER BY d.id",
          {project}, [&](const SqlRow& row) -> Result<void> {
            DatasetSummary summary{
                .project = project, .name = row.string(0), .digest = row.string(1)};
            for (auto& [key, value] : parse_tags(row.text(2))) {
              summary.context = key == "mlflow.data.context" ? value : summary.context;
            }
            const bool is_first =
                seen.emplace(project, summary.name, summary.digest, summary.context).second;
            if (is_first && list.size() < limit) {
              list.push_back(std::move(summary));
            }
            return {};
          }));
    }
    return {};
  }));
  return list;
}

nlohmann::json render_inputs(const RunLinks& links) {
  nlohmann::json body = nlohmann::json::object();
  for (const DatasetInput& input : links.datasets) {
    nlohmann::json dataset = {{"name", input.dataset.name},
                              {"digest", input.dataset.digest},
                              {"source_type", input.dataset.source_type},
                              {"source", input.dataset.source}};
    if (!input.dataset.schema.empty()) {
      dataset["schema"] = input.dataset.schema;
    }
    if (!input.dataset.profile.empty()) {
      dataset["profile"] = input.dataset.profile;
    }
    nlohmann::json entry = {{"dataset", std::move(dataset)}};
    if (!input.tags.empty()) {
      entry["tags"] = render_pairs(input.tags);
    }
    body["dataset_inputs"].push_back(std::move(entry));
  }
  for (const ModelLink& model : links.inputs) {
    body["model_inputs"].push_back({{"model_id", model.model_id}});
  }
  return body;
}

nlohmann::json render_outputs(const RunLinks& links) {
  nlohmann::json body = nlohmann::json::object();
  for (const ModelLink& model : links.outputs) {
    body["model_outputs"].push_back({{"model_id", model.model_id}, {"step", model.step}});
  }
  return body;
}

}  // namespace kedge::mlflow
