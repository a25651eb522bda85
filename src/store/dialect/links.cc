#include "store/dialect/links.h"

#include <string_view>

#include <nlohmann/json.hpp>

#include "store/internal/store_parts.h"
#include "store/internal/tables.h"
#include "store/internal/text.h"

namespace kedge::store {
namespace {

enum class Direction : std::uint8_t { Input, Output };

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

Result<KeyValues> parse_tags(std::string_view text) {
  return KEDGE_TRY(parse_json(text)).get<KeyValues>();
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

Result<std::vector<ModelLink>> list_models(Database& database, std::int64_t run,
                                           Direction direction) {
  return database.list(
      "SELECT model_id, step FROM run_models WHERE run = $1 AND direction = $2"
      " ORDER BY step, model_id",
      {run, static_cast<std::int64_t>(direction)}, [](const SqlRow& row) {
        return ModelLink{.model_id = row.string(0), .step = row.integer(1)};
      });
}

Result<DatasetInput> read_dataset_input(const SqlRow& row) {
  return DatasetInput{.dataset = {.name = row.string(0),
                                  .digest = row.string(1),
                                  .source_type = row.string(2),
                                  .source = row.string(3),
                                  .schema = row.string(4),
                                  .profile = row.string(5)},
                      .tags = KEDGE_TRY(parse_tags(row.text(6)))};
}

}  // namespace

Result<void> Links::load() {
  auto found = KEDGE_TRY(Tables(store_).list(
      "SELECT run_id FROM runs"
      " WHERE id IN (SELECT run FROM run_inputs) OR id IN (SELECT run FROM run_models)",
      {}, first_text));
  const std::lock_guard lock(mutex_);
  linked_.insert(found.begin(), found.end());
  return {};
}

bool Links::has(const RunKey& run) const {
  const std::lock_guard lock(mutex_);
  return linked_.contains(run.id);
}

std::vector<std::string> Links::runs() const {
  const std::lock_guard lock(mutex_);
  return {linked_.begin(), linked_.end()};
}

Result<RunLinks> Links::find(const RunKey& run) const {
  if (!has(run)) {
    return RunLinks();
  }
  const Tables tables(store_);
  const EntryPointer entry = KEDGE_TRY(tables.parts().find_entry(run));
  return tables.read([&](Database& database) -> Result<RunLinks> {
    return RunLinks{
        .datasets = KEDGE_TRY(database.list(
            "SELECT d.name, d.digest, d.source_type, d.source, d.schema_text, d.profile, i.tags"
            " FROM run_inputs i JOIN datasets d ON d.id = i.dataset WHERE i.run = $1 ORDER BY d.id",
            {entry->row}, read_dataset_input)),
        .inputs = KEDGE_TRY(list_models(database, entry->row, Direction::Input)),
        .outputs = KEDGE_TRY(list_models(database, entry->row, Direction::Output))};
  });
}

Result<void> Links::add(const RunKey& run, const RunLinks& links) {
  const Tables tables(store_);
  KEDGE_TRY(tables.change([&](Database& database) -> Result<void> {
    Store::Impl& store = tables.parts();
    LiveRun* live = KEDGE_TRY(store.touch(database, run));
    const std::int64_t project = store.projects.find(run.project).value().id;
    for (const DatasetInput& input : links.datasets) {
      const std::int64_t dataset = KEDGE_TRY(put_dataset(database, project, input.dataset));
      KEDGE_TRY(
          database.run("INSERT INTO run_inputs (run, dataset, tags) VALUES ($1, $2, $3)"
                       " ON CONFLICT (run, dataset) DO NOTHING",
                       {live->row, dataset, render_json(input.tags)}));
    }
    KEDGE_TRY(put_models(database, live->row, Direction::Input, links.inputs));
    KEDGE_TRY(put_models(database, live->row, Direction::Output, links.outputs));
    store.change(*live, kChangedFacts);
    return {};
  }));
  const std::lock_guard lock(mutex_);
  linked_.insert(run.id);
  return {};
}

Result<std::vector<GivenDataset>> Links::datasets(std::int64_t project) const {
  return Tables(store_).list(
      "SELECT d.name, d.digest, i.tags FROM run_inputs i JOIN datasets d ON d.id = i.dataset"
      " JOIN runs r ON r.id = i.run WHERE r.project_id = $1 AND r.deleted_us = 0 ORDER BY d.id",
      {project}, [&](const SqlRow& row) -> Result<GivenDataset> {
        return GivenDataset{.project = project,
                            .name = row.string(0),
                            .digest = row.string(1),
                            .tags = KEDGE_TRY(parse_tags(row.text(2)))};
      });
}

}  // namespace kedge::store
