#include <array>

#include "mlflow/internal/filter.h"

namespace kedge::mlflow {
namespace {

constexpr auto kRunEntities = std::to_array<EntityName>({
    {"metric", Entity::Metric},
    {"metrics", Entity::Metric},
    {"parameter", Entity::Parameter},
    {"parameters", Entity::Parameter},
    {"param", Entity::Parameter},
    {"params", Entity::Parameter},
    {"tag", Entity::Tag},
    {"tags", Entity::Tag},
    {"attribute", Entity::Attribute},
    {"attributes", Entity::Attribute},
    {"attr", Entity::Attribute},
    {"run", Entity::Attribute},
    {"dataset", Entity::Dataset},
    {"datasets", Entity::Dataset},
});

constexpr auto kRunAttributes = std::to_array<AttributeRule>({
    {.name = "Created", .meaning = "start_time", .is_numeric = true},
    {.name = "Run Name", .meaning = "run_name", .is_ordered_by = false},
    {.name = "Run name", .meaning = "run_name", .is_ordered_by = false},
    {.name = "artifact_uri", .meaning = "artifact_uri"},
    {.name = "created", .meaning = "start_time", .is_numeric = true},
    {.name = "end_time", .meaning = "end_time", .is_numeric = true},
    {.name = "run name", .meaning = "run_name", .is_ordered_by = false},
    {.name = "run_id", .meaning = "run_id", .takes_list = true},
    {.name = "run_name", .meaning = "run_name"},
    {.name = "start_time", .meaning = "start_time", .is_numeric = true},
    {.name = "status", .meaning = "status"},
    {.name = "user_id", .meaning = "user_id"},
});

constexpr auto kTagEntities = std::to_array<EntityName>({
    {"attribute", Entity::Attribute},
    {"attributes", Entity::Attribute},
    {"tag", Entity::Tag},
    {"tags", Entity::Tag},
});

constexpr auto kExperimentAttributes = std::to_array<AttributeRule>({
    {.name = "creation_time", .meaning = "creation_time", .is_numeric = true},
    {.name = "experiment_id", .meaning = "experiment_id", .takes_list = true},
    {.name = "last_update_time", .meaning = "last_update_time", .is_numeric = true},
    {.name = "name", .meaning = "name"},
});

constexpr auto kRegisteredModelAttributes = std::to_array<AttributeRule>({
    {.name = "creation_timestamp",
     .meaning = "creation_timestamp",
     .is_numeric = true,
     .is_filtered_by = false},
    {.name = "last_updated_timestamp",
     .meaning = "last_updated_timestamp",
     .is_numeric = true,
     .is_filtered_by = false},
    {.name = "name", .meaning = "name", .takes_list = true},
    // An old name, which the client's documentation still has.
    {.name = "timestamp",
     .meaning = "last_updated_timestamp",
     .is_numeric = true,
     .is_filtered_by = false},
});

constexpr auto kModelVersionAttributes = std::to_array<AttributeRule>({
    {.name = "creation_timestamp",
     .meaning = "creation_timestamp",
     .is_numeric = true,
     .is_filtered_by = false},
    {.name = "last_updated_timestamp",
     .meaning = "last_updated_timestamp",
     .is_numeric = true,
     .is_filtered_by = false},
    {.name = "name", .meaning = "name", .takes_list = true},
    {.name = "run_id", .meaning = "run_id", .takes_list = true, .is_ordered_by = false},
    {.name = "source_path", .meaning = "source_path", .is_ordered_by = false},
    {.name = "version_number",
     .meaning = "version_number",
     .is_numeric = true,
     .takes_quoted_number = true},
});

constexpr auto kLoggedModelEntities = std::to_array<EntityName>({
    {"attributes", Entity::Attribute},
    {"metrics", Entity::Metric},
    {"params", Entity::Parameter},
    {"tags", Entity::Tag},
});

constexpr auto kLoggedModelAttributes = std::to_array<AttributeRule>({
    {.name = "creation_time", .meaning = "creation_timestamp", .is_numeric = true},
    {.name = "creation_timestamp", .meaning = "creation_timestamp", .is_numeric = true},
    {.name = "creation_timestamp_ms", .meaning = "creation_timestamp", .is_numeric = true},
    {.name = "experiment_id", .meaning = "experiment_id", .takes_list = true},
    {.name = "last_updated_timestamp", .meaning = "last_updated_timestamp", .is_numeric = true},
    {.name = "last_updated_timestamp_ms", .meaning = "last_updated_timestamp", .is_numeric = true},
    {.name = "model_id", .meaning = "model_id", .takes_list = true},
    {.name = "model_type", .meaning = "model_type", .takes_list = true},
    {.name = "name", .meaning = "name", .takes_list = true},
    {.name = "source_run_id", .meaning = "source_run_id", .takes_list = true},
    {.name = "status", .meaning = "status", .takes_list = true},
});

constexpr std::string_view kTagHint = "Valid entity types are ('attribute', 'tag', 'tags')";

}  // namespace

const Language kRunLanguage = {
    .entities = kRunEntities,
    .entity_hint = "Valid values are ['metric', 'parameter', 'tag', 'attribute', 'dataset']",
    .attributes = kRunAttributes,
    .list_keys = "['run_id']",
};

const Language kExperimentLanguage = {
    .entities = kTagEntities,
    .entity_hint = kTagHint,
    .attributes = kExperimentAttributes,
    .list_keys = "['experiment_id']",
    .is_quoting_clauses = false,
    .is_upper_case = true,
};

const Language kRegisteredModelLanguage = {
    .entities = kTagEntities,
    .entity_hint = kTagHint,
    .attributes = kRegisteredModelAttributes,
    .list_keys = "['name']",
    .is_quoting_clauses = false,
    .has_params_null = false,
};

const Language kModelVersionLanguage = {
    .entities = kTagEntities,
    .entity_hint = kTagHint,
    .attributes = kModelVersionAttributes,
    .list_keys = "['name', 'run_id']",
    .is_quoting_clauses = false,
    .has_params_null = false,
};

const Language kLoggedModelLanguage = {
    .entities = kLoggedModelEntities,
    .entity_hint = "Expected one of ['attributes', 'metrics', 'params', 'tags'].",
    .attributes = kLoggedModelAttributes,
    .list_keys = "['name']",
};

}  // namespace kedge::mlflow
