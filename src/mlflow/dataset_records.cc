#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/file_digest.h"
#include "mlflow/internal/evaluation_datasets.h"
#include "mlflow/internal/runs.h"

namespace kedge::mlflow {
namespace {

using nlohmann::json;
using server::Method;
using server::Response;
using store::Database;
using store::Object;
using store::Objects;

constexpr std::int64_t kUsualRecords = 1000;
constexpr std::int64_t kMostRecords = 50'000;

// A record is known by its inputs: the same again changes it.
std::string name_of_record(const json& record) {
  return sha256_of(server::dump(record.at("inputs")));  // keys are sorted
}

Outcome<std::vector<json>> read_records(const Call& call) {
  json parsed = KEDGE_TRY(parse_body(KEDGE_TRY(call.fields.need_text("records"))));
  if (!parsed.is_array()) {
    return refuse("Invalid value for parameter 'records' supplied: it must be a JSON list");
  }
  std::vector<json> records;
  for (json& record : parsed) {
    if (!record.is_object()) {
      return refuse("Invalid value for parameter 'records' supplied: each must be an object");
    }
    record.emplace("inputs", json::object());
    for (const char* part : {"inputs", "expectations", "tags"}) {
      if (record.contains(part) && record[part].is_null() && part != std::string_view("inputs")) {
        record.erase(part);
      } else if (record.contains(part) && !record[part].is_object()) {
        return refuse(
            fmt::format("Invalid value for parameter 'records' supplied: '{}' of a "
                        "record must be an object",
                        part));
      }
    }
    records.push_back(std::move(record));
  }
  return records;
}

const json* user_of(const json& record) {
  const auto tags = record.find("tags");
  if (tags == record.end()) {
    return nullptr;
  }
  const auto user = tags->find(kUserTag);
  return user == tags->end() ? nullptr : &*user;
}

void add_source(const json& source, json& body) {
  body["source"] = source;
  if (!source.is_object() || !source.contains("source_type")) {
    return;
  }
  body["source_type"] = source.at("source_type");
  const char* key = source.at("source_type") == "TRACE" ? "trace_id" : "source_id";
  const json data = source.value("source_data", json::object());
  if (data.is_object() && data.contains(key)) {
    body["source_id"] = data.at(key);
  }
}

Object make_record(const json& record, const std::string& dataset, std::int64_t now_us) {
  Object made{.kind = std::string(kRecordKind),
              .id = "dr-" + make_id(),
              .parent = dataset,
              .name = name_of_record(record),
              .created_us = now_us};
  made.body = {{"dataset_record_id", made.id},  {"dataset_id", dataset},
               {"inputs", record.at("inputs")}, {"tags", record.value("tags", json::object())},
               {"created_time", to_ms(now_us)}, {"last_update_time", to_ms(now_us)}};
  if (json outputs = record.value("outputs", json::object()); !outputs.is_null()) {
    made.body["outputs"] = std::move(outputs);
  }
  if (record.contains("expectations")) {
    made.body["expectations"] = record.at("expectations");
  }
  if (record.contains("source") && !record.at("source").is_null()) {
    add_source(record.at("source"), made.body);
  }
  if (const json* user = user_of(record)) {
    made.body["created_by"] = *user;
    made.body["last_updated_by"] = *user;
  }
  return made;
}

void merge_record(const json& record, json& body, std::int64_t now_us) {
  if (const auto outputs = record.find("outputs"); outputs != record.end()) {
    body.erase("outputs");
    if (!outputs->is_null()) {
      body["outputs"] = *outputs;
    }
  }
  for (const char* group : {"expectations", "tags"}) {
    if (const auto found = record.find(group); found != record.end()) {
      body[group].update(*found);
    }
  }
  body["last_update_time"] = to_ms(now_us);
  if (const json* user = user_of(record)) {
    body["last_updated_by"] = *user;
  }
}

const char* type_of_value(const json& value) {
  switch (value.type()) {
    case json::value_t::null:
      return "null";
    case json::value_t::boolean:
      return "boolean";
    case json::value_t::number_integer:
    case json::value_t::number_unsigned:
      return "integer";
    case json::value_t::number_float:
      return "float";
    case json::value_t::string:
      return "string";
    case json::value_t::array:
      return "array";
    default:
      return "object";
  }
}

// The type of each field, as it was when it was first seen.
void extend_schema(const json& record, json& body) {
  json& schema = body["schema"];
  if (!schema.is_object()) {
    schema = {{"inputs", json::object()},
              {"outputs", json::object()},
              {"expectations", json::object()},
              {"version", "1.0"}};
  }
  for (const char* part : {"inputs", "outputs", "expectations"}) {
    const auto values = record.find(part);
    if (values == record.end() || values->is_null()) {
      continue;
    }
    json& types = schema[part];
    if (!values->is_object()) {
      if (types.empty()) {
        types = type_of_value(*values);
      }
      continue;
    }
    for (const auto& [key, value] : values->items()) {
      if (types.is_object()) {
        types.emplace(key, type_of_value(value));
      }
    }
  }
}

void set_profile(json& body, std::int64_t records) {
  body.erase("profile");
  if (records > 0) {
    body["profile"] = {{"num_records", records}};
  }
}

Outcome<Response> put_records(const Call& call) {
  const Object known = KEDGE_TRY(load_dataset(call, Need::Write));
  const auto records = KEDGE_TRY(read_records(call));
  std::int64_t inserted = 0;
  KEDGE_TRY(call.api.store.change([&](Database& database) -> Result<void> {
    inserted = 0;
    Objects objects(database);
    auto dataset = KEDGE_TRY(objects.find(kDatasetKind, known.id));
    if (!dataset) {
      return fail(ErrorKind::NotFound, dataset_not_found(known.id));
    }
    const std::int64_t now_us = call.api.now_us();
    for (const json& record : records) {
      auto before = KEDGE_TRY(objects.find_named(kRecordKind, known.id, name_of_record(record)));
      if (before) {
        merge_record(record, before->body, now_us);
      } else {
        before = make_record(record, known.id, now_us + inserted);  // listed in this order
        ++inserted;
      }
      KEDGE_TRY(objects.put(*before));
      extend_schema(record, dataset->body);
      if (const json* user = user_of(record)) {
        dataset->body["last_updated_by"] = *user;
      }
    }
    set_profile(dataset->body, KEDGE_TRY(objects.count(kRecordKind, known.id)));
    mark_changed(dataset->body, now_us);
    return objects.put(*dataset);
  }));
  return reply({{"inserted_count", inserted},
                {"updated_count", static_cast<std::int64_t>(records.size()) - inserted}});
}

Outcome<Response> list_records(const Call& call) {
  const Page page = KEDGE_TRY(read_page(call.fields, kUsualRecords, kMostRecords));
  const Object dataset = KEDGE_TRY(load_dataset(call, Need::Read));
  auto records = KEDGE_TRY(list_objects(call, kRecordKind, dataset.id));
  json body = {{"records", json::array()}};
  add_page(body, "records", page, records.size(),
           [&](std::size_t i) { return std::move(records[i].body); });
  body["records"] = server::dump(body["records"]);
  return reply(body);
}

Outcome<Response> remove_records(const Call& call) {
  const Object known = KEDGE_TRY(load_dataset(call, Need::Write));
  const auto ids = KEDGE_TRY(call.fields.texts("dataset_record_ids"));
  std::int64_t removed = 0;
  KEDGE_TRY(call.api.store.change([&](Database& database) -> Result<void> {
    removed = 0;
    Objects objects(database);
    for (const std::string& id : ids) {
      const auto record = KEDGE_TRY(objects.find(kRecordKind, id));
      if (record && record->parent == known.id) {
        KEDGE_TRY(objects.remove(kRecordKind, id));
        ++removed;
      }
    }
    auto dataset = KEDGE_TRY(objects.find(kDatasetKind, known.id));
    if (!dataset || removed == 0) {
      return {};
    }
    set_profile(dataset->body, KEDGE_TRY(objects.count(kRecordKind, known.id)));
    mark_changed(dataset->body, call.api.now_us());
    return objects.put(*dataset);
  }));
  return reply({{"deleted_count", removed}});
}

}  // namespace

void add_dataset_record_calls(Calls& calls) {
  write_v3(calls, Method::Post, "datasets/{dataset_id}/records", put_records);
  read_v3(calls, Method::Get, "datasets/{dataset_id}/records", list_records);
  write_v3(calls, Method::Delete, "datasets/{dataset_id}/records", remove_records);
}

}  // namespace kedge::mlflow
