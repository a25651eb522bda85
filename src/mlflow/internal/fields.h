// The fields of an MLflow request, wherever they came from: a JSON body or a query string. Both
// spellings of a name (run_id, runId), 64-bit integers as texts, NaN as a text and enums by name or
// number are understood here, once; and what is missing or of another type is refused in the words
// that clients' users know.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "http/http.h"
#include "mlflow/internal/fault.h"

namespace kedge::mlflow {

using KeyValues = std::vector<std::pair<std::string, std::string>>;

struct EnumName {
  std::string_view name;
  int number;
};

class Fields {
 public:
  // GET: of the query. Otherwise of the body, which may be empty, and may be a JSON text that holds
  // JSON, as old clients send it.
  static Outcome<Fields> read(const http::Request& request);

  explicit Fields(nlohmann::json object, bool is_query = false)
      : document_(std::make_shared<nlohmann::json>(std::move(object))),
        object_(document_.get()),
        is_query_(is_query) {}

  bool has(std::string_view name) const;

  // What is absent, null or (where needed) empty is missing.
  Outcome<std::optional<std::string>> find_text(std::string_view name) const;
  Outcome<std::string> text(std::string_view name) const;  // "" when missing
  Outcome<std::string> need_text(std::string_view name) const;
  Outcome<std::string> need_run_id() const;  // run_id or run_uuid

  Outcome<std::optional<std::int64_t>> find_integer(std::string_view name) const;
  Outcome<std::int64_t> need_integer(std::string_view name) const;
  Outcome<double> need_number(std::string_view name) const;
  Outcome<bool> boolean(std::string_view name, bool fallback) const;
  Outcome<int> enumerated(std::string_view name, std::span<const EnumName> names,
                          int fallback) const;

  Outcome<std::vector<std::string>> texts(std::string_view name) const;
  Outcome<std::vector<Fields>> items(std::string_view name) const;  // of a list of objects
  Outcome<std::optional<Fields>> find_object(std::string_view name) const;
  // A list of {key, value}; a key is needed, a value that is missing is "".
  Outcome<KeyValues> key_values(std::string_view name) const;

  // As it came.
  const nlohmann::json& object() const { return *object_; }

  std::string path_of(std::string_view name) const { return place_ + std::string(name); }

 private:
  // A part of another one's document.
  Fields(const Fields& whole, const nlohmann::json& part, std::string place)
      : document_(whole.document_), object_(&part), place_(std::move(place)) {}

  // Null: it is missing.
  Outcome<const nlohmann::json*> find(std::string_view name) const;
  Outcome<const nlohmann::json*> find_whole(std::string_view name) const;

  std::shared_ptr<const nlohmann::json> document_;  // shared with its parts, instead of copies
  const nlohmann::json* object_;
  std::string place_ = {};  // what stands before the names in messages: "metrics[0]."
  bool is_query_ = false;
};

Fault missing(const std::string& path);
Fault wrong_type(const std::string& path, const nlohmann::json& value);
// `Invalid value V for parameter 'PATH' supplied: WHY`
Fault wrong_value(const std::string& path, const nlohmann::json& value, std::string_view why);

// JSON, or what Python's json module writes besides: NaN, Infinity and -Infinity become texts.
Outcome<nlohmann::json> parse_body(std::string_view text);

// A decimal number of 64 bits, and nothing else.
std::optional<std::int64_t> parse_integer(std::string_view text);

// With the capitals of ASCII made small.
std::string lower(std::string_view text);

}  // namespace kedge::mlflow
