#include "mlflow/internal/objects.h"

#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace kedge::mlflow {

using store::Database;
using store::Object;
using store::Objects;

void read_v3(Calls& calls, server::Method method, std::string_view path, CallHandler handler) {
  calls.add(method, fmt::format("/api/3.0/mlflow/{}", path), read_options(), handler);
  calls.add(method, fmt::format("/ajax-api/3.0/mlflow/{}", path), read_options(), handler);
}

void write_v3(Calls& calls, server::Method method, std::string_view path, CallHandler handler) {
  calls.add(method, fmt::format("/api/3.0/mlflow/{}", path), write_options(), handler);
  calls.add(method, fmt::format("/ajax-api/3.0/mlflow/{}", path), write_options(), handler);
}

Result<std::optional<Object>> find_object(const Call& call, std::string_view kind,
                                          const std::string& id) {
  std::optional<Object> found;
  KEDGE_TRY(call.api.store.read([&](Database& database) -> Result<void> {
    found = KEDGE_TRY(Objects(database).find(kind, id));
    return {};
  }));
  return found;
}

Result<std::optional<Object>> find_named_object(const Call& call, std::string_view kind,
                                                const std::string& parent,
                                                const std::string& name) {
  std::optional<Object> found;
  KEDGE_TRY(call.api.store.read([&](Database& database) -> Result<void> {
    found = KEDGE_TRY(Objects(database).find_named(kind, parent, name));
    return {};
  }));
  return found;
}

Result<std::vector<Object>> list_objects(const Call& call, std::string_view kind,
                                         const std::optional<std::string>& parent) {
  std::vector<Object> found;
  KEDGE_TRY(call.api.store.read([&](Database& database) -> Result<void> {
    const Objects objects(database);
    found = KEDGE_TRY(parent ? objects.list(kind, *parent) : objects.list(kind));
    return {};
  }));
  return found;
}

Result<void> put_object(const Call& call, const Object& object) {
  return call.api.store.change(
      [&](Database& database) -> Result<void> { return Objects(database).put(object); });
}

Result<void> remove_object(const Call& call, std::string_view kind, const std::string& id) {
  return call.api.store.change(
      [&](Database& database) -> Result<void> { return Objects(database).remove(kind, id); });
}

Result<Object> edit_object(const Call& call, std::string_view kind, const std::string& id,
                           const std::string& missing,
                           const std::function<Result<void>(nlohmann::json& body)>& edit) {
  Object changed;
  KEDGE_TRY(call.api.store.change([&](Database& database) -> Result<void> {
    Objects objects(database);
    auto found = KEDGE_TRY(objects.find(kind, id));
    if (!found) {
      return fail(ErrorKind::NotFound, missing);
    }
    changed = std::move(*found);
    KEDGE_TRY(edit(changed.body));
    return objects.put(changed);
  }));
  return changed;
}

std::optional<std::string_view> find_text(const nlohmann::json& object, const std::string& name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string()
             ? std::optional<std::string_view>(found->get_ref<const std::string&>())
             : std::nullopt;
}

}  // namespace kedge::mlflow
