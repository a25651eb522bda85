// What a chat template computes with: Python's values, as far as templates can tell.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/result.h"

namespace kedge::data::jinja {

struct List;
struct Dict;
struct Loop;
struct Callable;

// A name or key that nobody gave a value; it is false, and prints as nothing.
struct Undefined {
  std::string name = {};
};

struct None {};

using Text = std::shared_ptr<const std::string>;
using ListPtr = std::shared_ptr<const List>;
using DictPtr = std::shared_ptr<const Dict>;
// namespace(...), the one value that can be changed.
struct Namespace;
using NamespacePtr = std::shared_ptr<Namespace>;
using LoopPtr = std::shared_ptr<const Loop>;
using CallablePtr = std::shared_ptr<const Callable>;

struct Value {
  std::variant<Undefined, None, bool, std::int64_t, double, Text, ListPtr, DictPtr, NamespacePtr,
               LoopPtr, CallablePtr>
      held;

  template <typename T>
  const T* as() const {
    return std::get_if<T>(&held);
  }

  bool is_undefined() const { return as<Undefined>() != nullptr; }

  bool is_none() const { return as<None>() != nullptr; }

  // Null when it is no text.
  const std::string* text() const {
    const Text* held_text = as<Text>();
    return held_text == nullptr ? nullptr : held_text->get();
  }
};

struct List {
  std::vector<Value> items;
  bool is_tuple = false;
};

struct Dict {
  std::vector<std::pair<std::string, Value>> entries;  // in the order in which they were put in

  const Value* find(std::string_view key) const;
  void set(std::string_view key, Value value);
};

struct Namespace {
  Dict values;
};

// The variable `loop` of a for statement, at one of its items.
struct Loop {
  std::shared_ptr<const std::vector<Value>> items;
  std::size_t index = 0;
};

Value of_text(std::string text);
Value of_list(std::vector<Value> items, bool is_tuple = false);

inline Value of_bool(bool value) {
  return {value};
}

inline Value of_int(std::int64_t value) {
  return {value};
}

// Usage: it is nested deeper than kMaxNesting, or a number is beyond 64 bits.
Result<Value> of_json(const nlohmann::ordered_json& json);

// Values within values, and expressions within expressions, deeper than this are refused.
inline constexpr int kMaxNesting = 100;

bool is_true(const Value& value);
bool is_number(const Value& value);  // True and False are, as in Python
double number_of(const Value& value);
bool are_equal(const Value& a, const Value& b);
// Python's name of the type, for messages: "str", "int", "list".
std::string_view type_name(const Value& value);

// str(value) and repr(value).
Result<std::string> str(const Value& value);
Result<std::string> repr(const Value& value);

struct JsonStyle {
  int indent = -1;  // -1: on one line
  std::string item_separator = ", ";
  std::string key_separator = ": ";
  bool ascii = false;
  bool sort_keys = false;
};

// json.dumps(value).
Result<std::string> to_json(const Value& value, const JsonStyle& style);

// What a for statement goes through. Usage: nothing can.
Result<std::vector<Value>> items_of(const Value& value);

// The characters of a text, each as its bytes.
std::vector<std::string_view> characters(std::string_view text);

}  // namespace kedge::data::jinja
