#include "store/models.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/nearest.h"
#include "store/internal/tables.h"

namespace kedge::store {
namespace {

constexpr auto kStages =
    std::to_array<std::string_view>({"None", "Staging", "Production", "Archived"});

constexpr std::string_view kSelectVersion =
    "SELECT model, version, source, run_id, stage, description, tags, user_name, created_us,"
    " changed_us, run_link, model_id, location FROM model_versions";

template <typename T>
T parse_map(std::string_view text) {
  return nlohmann::json::parse(text).get<T>();  // written by us
}

ModelVersion read_model_version(const SqlRow& row) {
  return {.model = row.string(0),
          .version = row.integer(1),
          .source = row.string(2),
          .run_id = row.string(3),
          .stage = row.string(4),
          .description = row.string(5),
          .tags = parse_map<std::map<std::string, std::string>>(row.text(6)),
          .aliases = {},
          .user = row.string(7),
          .created_us = row.integer(8),
          .changed_us = row.integer(9),
          .run_link = row.string(10),
          .model_id = row.string(11),
          .location = row.string(12)};
}

RegisteredModel read_model(const SqlRow& row) {
  return {.name = row.string(0),
          .description = row.string(1),
          .tags = parse_map<std::map<std::string, std::string>>(row.text(2)),
          .aliases = parse_map<std::map<std::string, std::int64_t>>(row.text(3)),
          .created_us = row.integer(4),
          .changed_us = row.integer(5),
          .versions = {}};
}

constexpr std::string_view kSelectModel =
    "SELECT name, description, tags, aliases, created_us, changed_us FROM models";

void add_model_aliases(const RegisteredModel& model, ModelVersion& version) {
  for (const auto& [alias, number] : model.aliases) {
    if (number == version.version) {
      version.aliases.push_back(alias);
    }
  }
}

// Without its versions.
Result<RegisteredModel> load_model(Database& database, const std::string& name) {
  auto found =
      KEDGE_TRY(database.find(fmt::format("{} WHERE name = $1", kSelectModel), {name}, read_model));
  if (!found) {
    return fail(ErrorKind::NotFound, fmt::format("no registered model '{}'", name));
  }
  return std::move(*found);
}

Result<ModelVersion> load_version(Database& database, const std::string& name,
                                  std::int64_t version) {
  const RegisteredModel model = KEDGE_TRY(load_model(database, name));
  auto found =
      KEDGE_TRY(database.find(fmt::format("{} WHERE model = $1 AND version = $2", kSelectVersion),
                              {name, version}, read_model_version));
  if (!found) {
    return fail(ErrorKind::NotFound, fmt::format("model '{}' has no version {}", name, version));
  }
  add_model_aliases(model, *found);
  return std::move(*found);
}

void apply_tags(const ModelPatch& patch, std::map<std::string, std::string>& tags) {
  for (const auto& [key, value] : patch.tags) {
    tags[key] = value;
  }
  for (const std::string& key : patch.removed_tags) {
    tags.erase(key);
  }
}

Result<void> write_aliases(Database& database, const RegisteredModel& model) {
  return database.run("UPDATE models SET aliases = $2 WHERE name = $1",
                      {model.name, nlohmann::json(model.aliases).dump()});
}

Result<void> check_name(const std::string& name) {
  if (name.empty() || name.size() > 256 || name.find_first_of("/:") != std::string::npos) {
    return fail(ErrorKind::Usage, fmt::format("'{}' cannot name a model", name),
                "use 1 to 256 characters without '/' and ':'");
  }
  return {};
}

}  // namespace

Result<std::vector<RegisteredModel>> Models::list() const {
  return Tables(store_).read([](Database& database) -> Result<std::vector<RegisteredModel>> {
    auto models =
        KEDGE_TRY(database.list(fmt::format("{} ORDER BY name", kSelectModel), {}, read_model));
    for (ModelVersion& version :
         KEDGE_TRY(database.list(fmt::format("{} ORDER BY model, version DESC", kSelectVersion), {},
                                 read_model_version))) {
      const auto owner = std::ranges::find(models, version.model, &RegisteredModel::name);
      if (owner != models.end()) {
        add_model_aliases(*owner, version);
        owner->versions.push_back(std::move(version));
      }
    }
    return models;
  });
}

Result<RegisteredModel> Models::find(const std::string& name) const {
  return Tables(store_).read([&](Database& database) -> Result<RegisteredModel> {
    RegisteredModel model = KEDGE_TRY(load_model(database, name));
    model.versions = KEDGE_TRY(
        database.list(fmt::format("{} WHERE model = $1 ORDER BY version DESC", kSelectVersion),
                      {name}, read_model_version));
    for (ModelVersion& version : model.versions) {
      add_model_aliases(model, version);
    }
    return model;
  });
}

Result<void> Models::create(const RegisteredModel& model, std::int64_t now_us) {
  KEDGE_TRY(check_name(model.name));
  return Tables(store_).change([&](Database& database) -> Result<void> {
    if (load_model(database, model.name)) {
      return fail(ErrorKind::Usage, fmt::format("there is a model '{}' already", model.name));
    }
    return database.run(
        "INSERT INTO models (name, description, tags, aliases, created_us, changed_us,"
        " next_version) VALUES ($1, $2, $3, $4, $5, $5, 1)",
        {model.name, model.description, nlohmann::json(model.tags).dump(), "{}", now_us});
  });
}

Result<void> Models::patch(const std::string& name, const ModelPatch& patch, std::int64_t now_us) {
  return Tables(store_).change([&](Database& database) -> Result<void> {
    RegisteredModel model = KEDGE_TRY(load_model(database, name));
    apply_tags(patch, model.tags);
    return database.run(
        "UPDATE models SET description = $2, tags = $3, changed_us = $4 WHERE name = $1",
        {name, patch.description.value_or(model.description), nlohmann::json(model.tags).dump(),
         now_us});
  });
}

Result<void> Models::rename(const std::string& name, const std::string& to, std::int64_t now_us) {
  KEDGE_TRY(check_name(to));
  return Tables(store_).change([&](Database& database) -> Result<void> {
    KEDGE_TRY(load_model(database, name));
    if (load_model(database, to)) {
      return fail(ErrorKind::Usage, fmt::format("there is a model '{}' already", to));
    }
    return database.run("UPDATE models SET name = $2, changed_us = $3 WHERE name = $1",
                        {name, to, now_us});
  });
}

Result<void> Models::remove(const std::string& name) {
  return Tables(store_).change([&](Database& database) -> Result<void> {
    KEDGE_TRY(load_model(database, name));
    return database.run("DELETE FROM models WHERE name = $1", {name});
  });
}

Result<ModelVersion> Models::add_version(const ModelVersion& draft, std::int64_t now_us) {
  return Tables(store_).change([&](Database& database) -> Result<ModelVersion> {
    KEDGE_TRY(load_model(database, draft.model));
    const std::int64_t number = KEDGE_TRY(
        database.query_integer("SELECT next_version FROM models WHERE name = $1", {draft.model}));
    KEDGE_TRY(database.run(
        "UPDATE models SET next_version = next_version + 1, changed_us = $2 WHERE name = $1",
        {draft.model, now_us}));
    KEDGE_TRY(database.run(
        "INSERT INTO model_versions (model, version, source, run_id, stage, description, tags,"
        " user_name, created_us, changed_us, run_link, model_id, location)"
        " VALUES ($1, $2, $3, $4, 'None', $5, $6, $7, $8, $8, $9, $10, $11)",
        {draft.model, number, draft.source, draft.run_id, draft.description,
         nlohmann::json(draft.tags).dump(), draft.user, now_us, draft.run_link, draft.model_id,
         draft.location}));
    return load_version(database, draft.model, number);
  });
}

Result<ModelVersion> Models::find_version(const std::string& model, std::int64_t version) const {
  return Tables(store_).read(
      [&](Database& database) { return load_version(database, model, version); });
}

Result<void> Models::patch_version(const std::string& model, std::int64_t version,
                                   const ModelPatch& patch, std::int64_t now_us) {
  if (patch.stage && std::ranges::find(kStages, *patch.stage) == kStages.end()) {
    return std::unexpected(unknown_name("stage", *patch.stage,
                                        std::vector<std::string>(kStages.begin(), kStages.end())));
  }
  return Tables(store_).change([&](Database& database) -> Result<void> {
    ModelVersion found = KEDGE_TRY(load_version(database, model, version));
    apply_tags(patch, found.tags);
    return database.run(
        "UPDATE model_versions SET description = $3, tags = $4, stage = $5, changed_us = $6"
        " WHERE model = $1 AND version = $2",
        {model, version, patch.description.value_or(found.description),
         nlohmann::json(found.tags).dump(), patch.stage.value_or(found.stage), now_us});
  });
}

Result<void> Models::move_version(const std::string& model, std::int64_t version,
                                  const std::string& stage, bool is_archiving,
                                  std::int64_t now_us) {
  return Tables(store_).change([&](Database& database) -> Result<void> {
    KEDGE_TRY(load_version(database, model, version));
    if (is_archiving) {
      KEDGE_TRY(
          database.run("UPDATE model_versions SET stage = 'Archived', changed_us = $4"
                       " WHERE model = $1 AND version <> $2 AND stage = $3",
                       {model, version, stage, now_us}));
    }
    KEDGE_TRY(database.run("UPDATE models SET changed_us = $2 WHERE name = $1", {model, now_us}));
    return database.run(
        "UPDATE model_versions SET stage = $3, changed_us = $4 WHERE model = $1 AND version = $2",
        {model, version, stage, now_us});
  });
}

Result<void> Models::remove_version(const std::string& model, std::int64_t version,
                                    std::int64_t now_us) {
  return Tables(store_).change([&](Database& database) -> Result<void> {
    KEDGE_TRY(load_version(database, model, version));
    RegisteredModel owner = KEDGE_TRY(load_model(database, model));
    std::erase_if(owner.aliases, [&](const auto& alias) { return alias.second == version; });
    KEDGE_TRY(write_aliases(database, owner));
    KEDGE_TRY(database.run("UPDATE models SET changed_us = $2 WHERE name = $1", {model, now_us}));
    return database.run("DELETE FROM model_versions WHERE model = $1 AND version = $2",
                        {model, version});
  });
}

Result<void> Models::set_alias(const std::string& model, const std::string& alias,
                               std::int64_t version) {
  if (alias.empty() || alias.size() > 256) {
    return fail(ErrorKind::Usage, fmt::format("'{}' cannot be an alias", alias));
  }
  return Tables(store_).change([&](Database& database) -> Result<void> {
    KEDGE_TRY(load_version(database, model, version));
    RegisteredModel owner = KEDGE_TRY(load_model(database, model));
    owner.aliases[alias] = version;
    return write_aliases(database, owner);
  });
}

Result<void> Models::remove_alias(const std::string& model, const std::string& alias) {
  return Tables(store_).change([&](Database& database) -> Result<void> {
    RegisteredModel owner = KEDGE_TRY(load_model(database, model));
    owner.aliases.erase(alias);
    return write_aliases(database, owner);
  });
}

}  // namespace kedge::store
