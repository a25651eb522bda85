// Objects of other tools' own that kedge keeps and finds and gives no meaning to: a kind, an id, a
// body. What belongs together is changed together, so this is a view of a transaction
// (Store::read, Store::change).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/result.h"
#include "store/database.h"

namespace kedge::store {

struct Object {
  std::string kind = {};                     // "mlflow.issue"
  std::string id = {};                       // one in its kind
  std::optional<std::int64_t> project = {};  // it goes with this one
  std::string parent = {};                   // what it is listed under
  std::string name = {};                     // one in its kind and parent, where it has one
  std::int64_t created_us = 0;
  nlohmann::json body = nlohmann::json::object();
};

class Objects {
 public:
  explicit Objects(Database& database) : database_(database) {}

  Result<std::optional<Object>> find(std::string_view kind, std::string_view id) const;
  Result<std::optional<Object>> find_named(std::string_view kind, std::string_view parent,
                                           std::string_view name) const;
  // The oldest first.
  Result<std::vector<Object>> list(std::string_view kind) const;
  Result<std::vector<Object>> list(std::string_view kind, std::string_view parent) const;
  Result<std::int64_t> count(std::string_view kind, std::string_view parent) const;

  // In place of what has the same kind and id, whose time of creation stays.
  Result<void> put(const Object& object);
  Result<void> remove(std::string_view kind, std::string_view id);
  Result<void> remove_all(std::string_view kind, std::string_view parent);

 private:
  Database& database_;
};

}  // namespace kedge::store
