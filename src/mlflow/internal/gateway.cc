#include "mlflow/internal/gateway.h"

#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace kedge::mlflow {

using nlohmann::json;
using store::Database;
using store::Object;
using store::Objects;

namespace {

void add(Calls& calls, server::Method method, std::string_view path, server::RouteOptions options,
         CallHandler handler) {
  options.is_scoped = false;
  calls.add(method, fmt::format("/api/3.0/mlflow/gateway/{}", path), options, handler);
  calls.add(method, fmt::format("/ajax-api/3.0/mlflow/gateway/{}", path), options, handler);
}

}  // namespace

void read_gateway(Calls& calls, server::Method method, std::string_view path, CallHandler handler) {
  add(calls, method, path, read_options(), handler);
}

void write_gateway(Calls& calls, server::Method method, std::string_view path,
                   CallHandler handler) {
  add(calls, method, path, write_options(), handler);
}

Outcome<Object> load_gateway(const Call& call, const GatewayKey& key, const std::string& id) {
  auto found = KEDGE_TRY(find_object(call, key.kind, id));
  if (!found) {
    return refuse(Code::ResourceDoesNotExist,
                  fmt::format("{} not found ({}='{}')", key.what, key.id_field, id));
  }
  return std::move(*found);
}

Outcome<Object> load_named_gateway(const Call& call, const GatewayKey& key,
                                   const std::string& name) {
  auto found = KEDGE_TRY(find_named_object(call, key.kind, "", name));
  if (!found) {
    return refuse(Code::ResourceDoesNotExist,
                  fmt::format("{} not found ({}='{}')", key.what, key.name_field, name));
  }
  return std::move(*found);
}

Outcome<Object> load_gateway(const Call& call, const GatewayKey& key) {
  const std::string id = KEDGE_TRY(call.fields.text(key.id_field));
  const std::string name = KEDGE_TRY(call.fields.text(key.name_field));
  if (id.empty() == name.empty()) {
    return refuse(
        fmt::format("Exactly one of {} or {} must be provided", key.id_field, key.name_field));
  }
  return id.empty() ? load_named_gateway(call, key, name) : load_gateway(call, key, id);
}

namespace {

Fault is_taken(const GatewayKey& key, const std::string& name) {
  return {Code::ResourceAlreadyExists,
          fmt::format("{} with name '{}' already exists", key.title, name)};
}

// False where another one of its kind has its name.
Result<bool> put_if_free(Objects& objects, const Object& object) {
  const auto other = KEDGE_TRY(objects.find_named(object.kind, "", object.name));
  if (other && other->id != object.id) {
    return false;
  }
  KEDGE_TRY(objects.put(object));
  return true;
}

}  // namespace

Outcome<void> put_named(const Call& call, const GatewayKey& key, const Object& object) {
  bool is_put = false;
  KEDGE_TRY(call.api.store.change([&](Database& database) -> Result<void> {
    Objects objects(database);
    is_put = KEDGE_TRY(put_if_free(objects, object));
    return {};
  }));
  return is_put ? Outcome<void>() : std::unexpected(is_taken(key, object.name));
}

Outcome<Object> update_named(const Call& call, const GatewayKey& key, const std::string& id,
                             json changes) {
  KEDGE_TRY(mark_updated(call, changes));
  Object object;
  bool is_put = false;
  KEDGE_TRY(call.api.store.change([&](Database& database) -> Result<void> {
    Objects objects(database);
    auto found = KEDGE_TRY(objects.find(key.kind, id));
    if (!found) {
      return fail(ErrorKind::NotFound, fmt::format("{} not found", key.what));
    }
    object = std::move(*found);
    object.body.update(changes);
    object.name = object.body.at("name").get<std::string>();
    is_put = KEDGE_TRY(put_if_free(objects, object));
    return {};
  }));
  if (!is_put) {
    return std::unexpected(is_taken(key, object.name));
  }
  return object;
}

Outcome<json> creation_facts(const Call& call) {
  const std::int64_t now_ms = to_ms(call.api.now_us());
  json facts = {{"created_at", now_ms}, {"last_updated_at", now_ms}};
  if (const std::string user = KEDGE_TRY(call.fields.text("created_by")); !user.empty()) {
    facts["created_by"] = user;
    facts["last_updated_by"] = user;
  }
  return facts;
}

Outcome<void> mark_updated(const Call& call, json& body) {
  body["last_updated_at"] = to_ms(call.api.now_us());
  if (const std::string user = KEDGE_TRY(call.fields.text("updated_by")); !user.empty()) {
    body["last_updated_by"] = user;
  }
  return {};
}

}  // namespace kedge::mlflow
