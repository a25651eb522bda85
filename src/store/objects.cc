#include "store/objects.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "store/internal/first_of.h"

namespace kedge::store {
namespace {

using nlohmann::json;

Object read_object(const SqlRow& row) {
  Object object{.kind = row.string(0), .id = row.string(1)};
  if (!row.is_null(2)) {
    object.project = row.integer(2);
  }
  object.parent = row.string(3);
  object.name = row.string(4);
  object.created_us = row.integer(5);
  object.body = json::parse(row.text(6));  // written by us
  return object;
}

SqlVisitor add_objects_to(std::vector<Object>& objects) {
  return [&objects](const SqlRow& row) -> Result<void> {
    objects.push_back(read_object(row));
    return {};
  };
}

}  // namespace

Result<std::optional<Object>> Objects::find(std::string_view kind, std::string_view id) const {
  std::vector<Object> found;
  KEDGE_TRY(
      database_.query("SELECT kind, id, project_id, parent, name, created_us, body FROM objects"
                      " WHERE kind = $1 AND id = $2",
                      {kind, id}, add_objects_to(found)));
  return first_of(std::move(found));
}

Result<std::optional<Object>> Objects::find_named(std::string_view kind, std::string_view parent,
                                                  std::string_view name) const {
  std::vector<Object> found;
  KEDGE_TRY(
      database_.query("SELECT kind, id, project_id, parent, name, created_us, body FROM objects"
                      " WHERE kind = $1 AND parent = $2 AND name = $3",
                      {kind, parent, name}, add_objects_to(found)));
  return first_of(std::move(found));
}

Result<std::vector<Object>> Objects::list(std::string_view kind) const {
  std::vector<Object> found;
  KEDGE_TRY(
      database_.query("SELECT kind, id, project_id, parent, name, created_us, body FROM objects"
                      " WHERE kind = $1 ORDER BY created_us, id",
                      {kind}, add_objects_to(found)));
  return found;
}

Result<std::vector<Object>> Objects::list(std::string_view kind, std::string_view parent) const {
  std::vector<Object> found;
  KEDGE_TRY(
      database_.query("SELECT kind, id, project_id, parent, name, created_us, body FROM objects"
                      " WHERE kind = $1 AND parent = $2 ORDER BY created_us, id",
                      {kind, parent}, add_objects_to(found)));
  return found;
}

Result<std::int64_t> Objects::count(std::string_view kind, std::string_view parent) const {
  return database_.query_integer("SELECT COUNT(*) FROM objects WHERE kind = $1 AND parent = $2",
                                 {kind, parent});
}

Result<void> Objects::put(const Object& object) {
  const std::string body = object.body.dump(-1, ' ', false, json::error_handler_t::replace);
  const SqlValue project = object.project ? SqlValue(*object.project) : SqlValue(nullptr);
  return database_.run(
      "INSERT INTO objects (kind, id, project_id, parent, name, created_us, body)"
      " VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (kind, id) DO UPDATE SET"
      " project_id = excluded.project_id, parent = excluded.parent, name = excluded.name,"
      " body = excluded.body",
      {object.kind, object.id, project, object.parent, object.name, object.created_us, body});
}

Result<void> Objects::remove(std::string_view kind, std::string_view id) {
  return database_.run("DELETE FROM objects WHERE kind = $1 AND id = $2", {kind, id});
}

Result<void> Objects::remove_all(std::string_view kind, std::string_view parent) {
  return database_.run("DELETE FROM objects WHERE kind = $1 AND parent = $2", {kind, parent});
}

}  // namespace kedge::store
