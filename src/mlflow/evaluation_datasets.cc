#include "mlflow/internal/evaluation_datasets.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/file_digest.h"
#include "mlflow/internal/experiments.h"
#include "mlflow/internal/filter.h"
#include "mlflow/internal/python_text.h"
#include "mlflow/internal/runs.h"

namespace kedge::mlflow {
namespace {

using nlohmann::json;
using server::Method;
using server::Response;
using store::Database;
using store::Object;
using store::Objects;

constexpr std::int64_t kUsualDatasets = 1000;
constexpr std::int64_t kMostDatasets = 50'000;

constexpr auto kDatasetEntities = std::to_array<EntityName>({
    {"attribute", Entity::Attribute},
    {"tags", Entity::Tag},
});
constexpr auto kDatasetAttributes = std::to_array<AttributeRule>({
    {.name = "created_by", .meaning = "created_by", .is_ordered_by = false},
    {.name = "created_time", .meaning = "created_time", .is_numeric = true},
    {.name = "last_update_time", .meaning = "last_update_time", .is_numeric = true},
    {.name = "last_updated_by", .meaning = "last_updated_by", .is_ordered_by = false},
    {.name = "name", .meaning = "name"},
});
constexpr Language kDatasetLanguage = {
    .entities = kDatasetEntities,
    .entity_hint = "Valid entity types are ('attribute', 'tags')",
    .attributes = kDatasetAttributes,
    .list_keys = "[]",
    .is_quoting_clauses = false,
    .has_params_null = false,
    .has_tags_null = false,
};

bool may(const Call& call, const Object& dataset, Need need) {
  if (call.request.caller.project.empty()) {
    return true;
  }
  const json& experiments = dataset.body.at("experiment_ids");
  const auto is_ours = [&](const json& id) {
    return load_experiment(call, id.get<std::string>()).has_value();
  };
  return need == Need::Read ? std::ranges::any_of(experiments, is_ours)
                            : !experiments.empty() && std::ranges::all_of(experiments, is_ours);
}

// An object of texts, which comes as a text.
Outcome<json> read_tags_text(const std::string& text) {
  const json parsed = KEDGE_TRY(parse_body(text));
  if (!parsed.is_object()) {
    return refuse(
        fmt::format("Invalid value {} for parameter 'tags' supplied: it must be a JSON "
                    "object",
                    text));
  }
  json tags = json::object();
  for (const auto& [key, value] : parsed.items()) {
    if (!value.is_null()) {
      tags[key] = render_param(value);
    }
  }
  return tags;
}

Outcome<std::vector<std::string>> read_experiments(const Call& call) {
  auto ids = KEDGE_TRY(call.fields.texts("experiment_ids"));
  for (const std::string& id : ids) {
    KEDGE_TRY(load_experiment(call, id));
  }
  return ids;
}

Outcome<Response> create_dataset(const Call& call) {
  const std::string name = KEDGE_TRY(call.fields.need_text("name"));
  const std::string tags = KEDGE_TRY(call.fields.text("tags"));
  const std::int64_t now_us = call.api.now_us();
  Object dataset{.kind = std::string(kDatasetKind),
                 .id = "d-" + make_id(),
                 .name = name,
                 .created_us = now_us};
  dataset.body = {{"dataset_id", dataset.id},
                  {"name", name},
                  {"tags", tags.empty() ? json::object() : KEDGE_TRY(read_tags_text(tags))},
                  {"created_time", to_ms(now_us)},
                  {"experiment_ids", KEDGE_TRY(read_experiments(call))}};
  if (!may(call, dataset, Need::Write)) {
    KEDGE_TRY(check_access(call, ""));
  }
  if (const auto user = dataset.body["tags"].find(kUserTag); user != dataset.body["tags"].end()) {
    dataset.body["created_by"] = *user;
    dataset.body["last_updated_by"] = *user;
  }
  mark_changed(dataset.body, now_us);
  KEDGE_TRY(put_object(call, dataset));
  return reply({{"dataset", render_dataset(dataset)}});
}

Outcome<Response> get_dataset(const Call& call) {
  return reply({{"dataset", render_dataset(KEDGE_TRY(load_dataset(call, Need::Read)))}});
}

// What a call says that may be said again: a dataset that is gone is no error.
Outcome<bool> is_there(const Call& call) {
  const auto dataset = load_dataset(call, Need::Write);
  if (!dataset && dataset.error().code != Code::ResourceDoesNotExist) {
    return std::unexpected(dataset.error());
  }
  return dataset.has_value();
}

Outcome<Response> remove_dataset(const Call& call) {
  if (KEDGE_TRY(is_there(call))) {
    const std::string& id = call.request.parameter("dataset_id");
    KEDGE_TRY(call.api.store.change([&](Database& database) -> Result<void> {
      Objects objects(database);
      KEDGE_TRY(objects.remove_all(kRecordKind, id));
      return objects.remove(kDatasetKind, id);
    }));
  }
  return reply_empty();
}

Outcome<Object> edit_dataset(const Call& call,
                             const std::function<Result<void>(json& body)>& change) {
  const std::string& id = call.request.parameter("dataset_id");
  return KEDGE_TRY(edit_object(call, kDatasetKind, id, dataset_not_found(id), change));
}

Outcome<Response> set_dataset_tags(const Call& call) {
  const json tags = KEDGE_TRY(read_tags_text(KEDGE_TRY(call.fields.need_text("tags"))));
  KEDGE_TRY(load_dataset(call, Need::Write));
  KEDGE_TRY(edit_dataset(call, [&](json& body) -> Result<void> {
    body["tags"].update(tags);
    return {};
  }));
  return reply_empty();
}

Outcome<Response> delete_dataset_tag(const Call& call) {
  if (KEDGE_TRY(is_there(call))) {
    KEDGE_TRY(edit_dataset(call, [&](json& body) -> Result<void> {
      body["tags"].erase(call.request.parameter("key"));
      return {};
    }));
  }
  return reply_empty();
}

Outcome<Response> list_experiments(const Call& call) {
  json body = json::object();
  if (const json ids = KEDGE_TRY(load_dataset(call, Need::Read)).body["experiment_ids"];
      !ids.empty()) {
    body["experiment_ids"] = ids;
  }
  return reply(body);
}

Outcome<Response> add_experiments(const Call& call) {
  KEDGE_TRY(load_dataset(call, Need::Write));
  const auto added = KEDGE_TRY(read_experiments(call));
  const Object dataset = KEDGE_TRY(edit_dataset(call, [&](json& body) -> Result<void> {
    json& ids = body["experiment_ids"];
    for (const std::string& id : added) {
      if (std::ranges::find(ids, json(id)) == ids.end()) {
        ids.push_back(id);
      }
    }
    mark_changed(body, call.api.now_us());
    return {};
  }));
  return reply({{"dataset", render_dataset(dataset)}});
}

Outcome<Response> remove_experiments(const Call& call) {
  KEDGE_TRY(load_dataset(call, Need::Write));
  const auto removed = KEDGE_TRY(call.fields.texts("experiment_ids"));
  const Object dataset = KEDGE_TRY(edit_dataset(call, [&](json& body) -> Result<void> {
    const auto is_removed = [&](const json& id) {
      return std::ranges::find(removed, id.get<std::string>()) != removed.end();
    };
    if (std::erase_if(body["experiment_ids"].get_ref<json::array_t&>(), is_removed) > 0) {
      mark_changed(body, call.api.now_us());
    }
    return {};
  }));
  return reply({{"dataset", render_dataset(dataset)}});
}

bool matches_dataset(const Clause& clause, const json& body) {
  if (clause.is_numeric) {
    return matches_number(clause, body.at(clause.key).get<double>());
  }
  const json& group = clause.entity == Entity::Tag ? body.at("tags") : body;
  return matches_text(clause, find_text(group, clause.key));
}

bool belongs_to(const json& body, const std::vector<std::string>& experiments) {
  return experiments.empty() || std::ranges::any_of(body.at("experiment_ids"), [&](const json& id) {
           return std::ranges::find(experiments, id.get<std::string>()) != experiments.end();
         });
}

Outcome<std::vector<OrderTerm>> read_dataset_order(const Call& call) {
  std::vector<OrderTerm> order;
  for (const std::string& text : KEDGE_TRY(call.fields.texts("order_by"))) {
    order.push_back(KEDGE_TRY(parse_order(text, kDatasetLanguage)));
    if (order.back().entity != Entity::Attribute) {
      return refuse("Invalid order_by entity: tag");
    }
  }
  if (order.empty()) {
    order.push_back({.key = "created_time", .is_ascending = false});
  }
  order.push_back({.key = "dataset_id", .is_ascending = false});
  return order;
}

Outcome<Response> search_evaluation_datasets(const Call& call) {
  const Page page = KEDGE_TRY(read_page(call.fields, kUsualDatasets, kMostDatasets));
  const auto experiments = KEDGE_TRY(call.fields.texts("experiment_ids"));
  const auto clauses =
      KEDGE_TRY(parse_filter(KEDGE_TRY(call.fields.text("filter_string")), kDatasetLanguage));
  const auto order = KEDGE_TRY(read_dataset_order(call));
  auto datasets = KEDGE_TRY(list_objects(call, kDatasetKind));
  std::erase_if(datasets, [&](const Object& dataset) {
    return !may(call, dataset, Need::Read) || !belongs_to(dataset.body, experiments) ||
           !std::ranges::all_of(clauses, [&](const Clause& clause) {
             return matches_dataset(clause, dataset.body);
           });
  });
  std::ranges::stable_sort(datasets, [&](const Object& a, const Object& b) {
    for (const OrderTerm& term : order) {
      const json& left = a.body.at(term.key);
      const json& right = b.body.at(term.key);
      if (left != right) {
        return (left < right) == term.is_ascending;
      }
    }
    return false;
  });
  json body = json::object();
  add_page(body, "datasets", page, datasets.size(),
           [&](std::size_t i) { return render_dataset(datasets[i]); });
  return reply(body);
}

}  // namespace

std::string dataset_not_found(const std::string& id) {
  return fmt::format("Evaluation dataset with id '{}' not found", id);
}

Outcome<Object> load_dataset(const Call& call, Need need) {
  const std::string& id = call.request.parameter("dataset_id");
  auto dataset = KEDGE_TRY(find_object(call, kDatasetKind, id));
  // One of another project is as if it were not there.
  if (!dataset || !may(call, *dataset, Need::Read)) {
    return refuse(Code::ResourceDoesNotExist, dataset_not_found(id));
  }
  if (!may(call, *dataset, need)) {
    return refuse(Code::PermissionDenied,
                  fmt::format("Evaluation dataset '{}' belongs to other experiments too", id));
  }
  return std::move(*dataset);
}

json render_dataset(const Object& dataset) {
  json body = dataset.body;
  for (const char* text : {"tags", "schema", "profile"}) {
    if (const auto found = body.find(text); found != body.end()) {
      *found = server::dump(*found);
    }
  }
  if (body["experiment_ids"].empty()) {
    body.erase("experiment_ids");
  }
  return body;
}

void mark_changed(json& body, std::int64_t now_us) {
  const std::int64_t now_ms = to_ms(now_us);
  body["last_update_time"] = now_ms;
  const std::string version = fmt::format("{}:{}", body.at("name").get<std::string>(), now_ms);
  body["digest"] = sha256_of(version).substr(0, 8);
}

void add_evaluation_dataset_calls(Calls& calls) {
  write_v3(calls, Method::Post, "datasets/create", create_dataset);
  read_v3(calls, Method::Post, "datasets/search", search_evaluation_datasets);
  read_v3(calls, Method::Get, "datasets/search", search_evaluation_datasets);
  read_v3(calls, Method::Get, "datasets/{dataset_id}", get_dataset);
  write_v3(calls, Method::Delete, "datasets/{dataset_id}", remove_dataset);
  write_v3(calls, Method::Patch, "datasets/{dataset_id}/tags", set_dataset_tags);
  write_v3(calls, Method::Delete, "datasets/{dataset_id}/tags/{key}", delete_dataset_tag);
  read_v3(calls, Method::Get, "datasets/{dataset_id}/experiment-ids", list_experiments);
  write_v3(calls, Method::Post, "datasets/{dataset_id}/add-experiments", add_experiments);
  write_v3(calls, Method::Post, "datasets/{dataset_id}/remove-experiments", remove_experiments);
}

}  // namespace kedge::mlflow
