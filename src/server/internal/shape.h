// What a call takes and gives, written as in TypeScript and kept as JSON Schema:
//   {name: string, limit?: integer(0..100) = 10, runs: Run[], state: 'on' | 'off' | null}
// In an object a comment ("// ...") tells of the field before it, and `*: any` allows other names.
// `time` is an integer, `file` bytes; `A & {...}` is the shape A with more fields, or with others
// under the same names. Knows no routes and no HTTP.
#pragma once

#include <string_view>

#include <nlohmann/json.hpp>

#include "core/result.h"

namespace kedge::server {

using Schema = nlohmann::ordered_json;

class Shapes {
 public:
  // From then on `name` stands for the shape. What `&` extends must have been named before.
  void name(std::string_view name, std::string_view shape);

  // A mistake in a shape is the program's: it ends.
  Schema parse(std::string_view shape) const;

  const Schema& named() const { return named_; }

  // What a schema that only names another stands for; others are given back.
  const Schema& resolve(const Schema& schema) const;

  // Holds a value to a schema. Usage, with the place, for a wrong type, a value out of its range, a
  // field that is missing or not known. Puts defaults in place of missing fields, and takes out
  // fields that are null where that means missing.
  Result<void> check(const Schema& schema, nlohmann::json& value) const;

 private:
  Schema named_ = Schema::object();
};

}  // namespace kedge::server
