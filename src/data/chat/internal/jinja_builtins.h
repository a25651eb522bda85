// The functions, methods, filters and tests that a chat template may use.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"
#include "data/chat/internal/jinja_value.h"

namespace kedge::data::jinja {

bool is_known_function(std::string_view name);
bool is_known_method(std::string_view name);
bool is_known_filter(std::string_view name);
bool is_known_test(std::string_view name);

// `kind` is the word for it: "filter".
Error unknown_builtin(int line, std::string_view kind, std::string_view name);

// What a call was given.
struct Arguments {
  std::vector<Value> plain = {};
  std::vector<std::pair<std::string, Value>> named = {};

  // The argument at that place or of that name; null where there is none.
  const Value* find(std::size_t place, std::string_view name) const;
  Result<std::int64_t> whole(std::size_t place, std::string_view name, std::int64_t fallback) const;
  Result<std::optional<std::string>> text(std::size_t place, std::string_view name) const;
  Result<bool> flag(std::size_t place, std::string_view name, bool fallback) const;
  // Usage: there is an argument that the list does not name, or one too many.
  Result<void> check(std::string_view whose, const std::vector<std::string_view>& names) const;
};

// What the functions need from outside.
struct Surroundings {
  std::optional<std::int64_t> now_s = {};  // local time, as seconds since 1970; none: no clock
};

Result<Value> call_function(std::string_view name, const Arguments& arguments,
                            const Surroundings& surroundings);
// A method that the value has. Usage: it has none of that name.
Result<Value> call_method(const Value& self, std::string_view name, const Arguments& arguments);
bool has_method(const Value& self, std::string_view name);
Result<Value> apply_filter(std::string_view name, const Value& subject, const Arguments& arguments);
Result<bool> apply_test(std::string_view name, const Value& subject, const Arguments& arguments);

// subject.name and subject[key]; undefined where there is nothing. Usage: the subject is undefined.
Result<Value> attribute_of(const Value& subject, const std::string& name);
Result<Value> item_of(const Value& subject, const Value& key);
Result<Value> slice_of(const Value& subject, const std::vector<const Value*>& bounds);

// `name` is one of == != < <= > >= in "not in".
Result<bool> compare(std::string_view name, const Value& a, const Value& b);
// `name` is one of + - * / // % **.
Result<Value> calculate(std::string_view name, const Value& a, const Value& b);

// What one value may grow to.
inline constexpr std::size_t kMaxTextBytes = std::size_t{64} << 20U;

}  // namespace kedge::data::jinja
