#include "config/value.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <yaml-cpp/yaml.h>

#include "core/nearest.h"

namespace kedge::config {
namespace {

std::string shown(const YAML::Node& node) {
  if (node.IsScalar()) {
    return fmt::format("'{}'", node.Scalar());
  }
  return node.IsSequence() ? "a list" : node.IsMap() ? "a map" : "nothing";
}

std::unexpected<Error> expected(std::string_view what, const YAML::Node& node) {
  return fail(ErrorKind::Usage, fmt::format("expected {}, found {}", what, shown(node)));
}

Result<bool> read_bool(const YAML::Node& node) {
  bool value = false;
  if (node.IsScalar() && YAML::convert<bool>::decode(node, value)) {
    return value;
  }
  return expected("true or false", node);
}

Result<double> read_double(const YAML::Node& node) {
  double value = 0;
  if (node.IsScalar() && YAML::convert<double>::decode(node, value) && !std::isnan(value)) {
    return value;
  }
  return expected("a number", node);
}

// 1e3 and 1000.0 are whole numbers too.
Result<std::int64_t> read_int(const YAML::Node& node) {
  std::int64_t value = 0;
  if (node.IsScalar()) {
    const std::string& text = node.Scalar();
    const char* end = text.data() + text.size();
    if (const auto parsed = std::from_chars(text.data(), end, value);
        parsed.ec == std::errc{} && parsed.ptr == end) {
      return value;
    }
    const auto number = read_double(node);
    if (number && std::trunc(*number) == *number && std::abs(*number) < 1e15) {
      return static_cast<std::int64_t>(*number);
    }
  }
  return expected("a whole number", node);
}

Result<std::string> read_string(const YAML::Node& node) {
  if (node.IsScalar()) {
    return node.Scalar();
  }
  return expected("a text", node);
}

Result<void> check_limits(const Limits& limits, double value) {
  if (value < limits.min || (limits.above_min && value <= limits.min)) {
    return fail(ErrorKind::Usage, fmt::format("{} is too small: it must be {} {}", value,
                                              limits.above_min ? "above" : "at least", limits.min));
  }
  if (value > limits.max) {
    return fail(ErrorKind::Usage,
                fmt::format("{} is too large: it may be at most {}", value, limits.max));
  }
  return {};
}

// A list may be written as one value, too: `tags: first`.
std::vector<YAML::Node> elements(const YAML::Node& node) {
  if (node.IsSequence()) {
    return {node.begin(), node.end()};
  }
  return {node};
}

class Setter {
 public:
  Setter(const Field& field, const YAML::Node& node) : limits_(field.limits), node_(node) {}

  Result<void> operator()(bool* target) const {
    *target = KEDGE_TRY(read_bool(node_));
    return {};
  }

  Result<void> operator()(std::int64_t* target) const {
    const std::int64_t value = KEDGE_TRY(read_int(node_));
    KEDGE_TRY(check_limits(limits_, static_cast<double>(value)));
    *target = value;
    return {};
  }

  Result<void> operator()(double* target) const {
    const double value = KEDGE_TRY(read_double(node_));
    KEDGE_TRY(check_limits(limits_, value));
    *target = value;
    return {};
  }

  Result<void> operator()(std::string* target) const {
    *target = KEDGE_TRY(read_string(node_));
    return {};
  }

  Result<void> operator()(Bytes* target) const {
    *target = KEDGE_TRY(parse_bytes(KEDGE_TRY(read_string(node_))));
    return {};
  }

  Result<void> operator()(Seconds* target) const {
    *target = KEDGE_TRY(parse_seconds(KEDGE_TRY(read_string(node_))));
    return {};
  }

  template <typename T>
  Result<void> operator()(std::optional<T>* target) const {
    if (node_.IsNull() || (node_.IsScalar() && node_.Scalar().empty())) {
      target->reset();
      return {};
    }
    T value{};
    KEDGE_TRY((*this)(&value));
    *target = value;
    return {};
  }

  template <typename T>
  Result<void> operator()(std::vector<T>* target) const {
    std::vector<T> values;
    if (!node_.IsNull() && !(node_.IsScalar() && node_.Scalar().empty())) {
      for (const YAML::Node& element : elements(node_)) {
        T value{};
        KEDGE_TRY(Setter(limits_, element)(&value));
        values.push_back(value);
      }
    }
    *target = std::move(values);
    return {};
  }

  template <typename T>
  Result<void> operator()(std::map<std::string, T>* target) const {
    if (!node_.IsMap() && !node_.IsNull()) {
      return expected("a map of names to values", node_);
    }
    std::map<std::string, T> values;
    for (const auto& entry : node_) {
      T value{};
      KEDGE_TRY(Setter(limits_, entry.second)(&value));
      values[KEDGE_TRY(read_string(entry.first))] = value;
    }
    *target = std::move(values);
    return {};
  }

  Result<void> operator()(const EnumTarget& target) const {
    const std::string text = KEDGE_TRY(read_string(node_));
    const auto found = std::find(limits_.choices.begin(), limits_.choices.end(), text);
    if (found == limits_.choices.end()) {
      const std::string near = nearest_name(text, limits_.choices);
      return fail(ErrorKind::Usage,
                  fmt::format("expected one of {}, found '{}'{}", fmt::join(limits_.choices, ", "),
                              text, near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
    }
    target.set(static_cast<int>(found - limits_.choices.begin()));
    return {};
  }

 private:
  Setter(const Limits& limits, const YAML::Node& node) : limits_(limits), node_(node) {}

  const Limits& limits_;
  const YAML::Node& node_;
};

struct TypeName {
  std::string operator()(const bool*) const { return "true or false"; }

  std::string operator()(const std::int64_t*) const { return "whole number"; }

  std::string operator()(const double*) const { return "number"; }

  std::string operator()(const std::string*) const { return "text"; }

  std::string operator()(const Bytes*) const { return "size"; }

  std::string operator()(const Seconds*) const { return "duration"; }

  template <typename T>
  std::string operator()(const std::optional<T>*) const {
    return (*this)(static_cast<const T*>(nullptr)) + " or empty";
  }

  template <typename T>
  std::string operator()(const std::vector<T>*) const {
    return "list of " + (*this)(static_cast<const T*>(nullptr));
  }

  template <typename T>
  std::string operator()(const std::map<std::string, T>*) const {
    return "map of " + (*this)(static_cast<const T*>(nullptr));
  }

  std::string operator()(const EnumTarget&) const { return "choice"; }
};

struct ToJson {
  const Field& field;

  nlohmann::json operator()(const Bytes* target) const { return target->value; }

  nlohmann::json operator()(const Seconds* target) const {
    return fmt::format("{}s", target->value);
  }

  template <typename T>
  nlohmann::json operator()(const std::optional<T>* target) const {
    return *target ? nlohmann::json(**target) : nlohmann::json(nullptr);
  }

  nlohmann::json operator()(const EnumTarget& target) const {
    return field.limits.choices[static_cast<std::size_t>(target.get())];
  }

  template <typename T>
  nlohmann::json operator()(const T* target) const {
    return *target;
  }
};

// Whether YAML reads the bare text back as the same text. Not by std::regex, which recurses once
// per character and ends the process on a long one.
bool is_plain(std::string_view text) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  constexpr std::array<std::string_view, 13> kWords = {
      "true", "false", "yes", "no", "on", "off", "null", "y", "n", "nan", "inf", ".nan", ".inf"};
  const auto is_one_of = [&](char c, std::string_view others) {
    return kLetters.find(c) != std::string_view::npos || others.find(c) != std::string_view::npos;
  };
  if (text.empty() || !is_one_of(text.front(), text.size() == 1 ? "/" : "./") ||
      !is_one_of(text.back(), "0123456789_./")) {
    return false;
  }
  std::string lower;
  for (const char c : text) {
    if (!is_one_of(c, "0123456789_./ -")) {
      return false;
    }
    lower += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  }
  return std::ranges::find(kWords, lower) == kWords.end();
}

// Plain where it can be, quoted otherwise.
std::string yaml_text(const std::string& text) {
  return is_plain(text)
             ? text
             : nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string yaml_of(const nlohmann::json& value) {
  if (value.is_string()) {
    return yaml_text(value.get<std::string>());
  }
  if (value.is_number_float()) {
    return fmt::format("{}", value.get<double>());
  }
  if (value.is_null()) {
    return "null";
  }
  if (value.is_array() || value.is_object()) {
    std::vector<std::string> parts;
    for (const auto& [key, item] : value.items()) {
      parts.push_back(value.is_array() ? yaml_of(item) : yaml_text(key) + ": " + yaml_of(item));
    }
    const std::string inside = fmt::format("{}", fmt::join(parts, ", "));
    return value.is_array() ? "[" + inside + "]" : "{" + inside + "}";
  }
  return value.dump();
}

}  // namespace

Result<void> set_value(const Field& field, const YAML::Node& node) {
  return std::visit(Setter(field, node), field.target);
}

std::string describe_type(const Field& field) {
  const Limits& limits = field.limits;
  if (!limits.choices.empty()) {
    return fmt::format("one of {}", fmt::join(limits.choices, ", "));
  }
  std::string text = std::visit(TypeName{}, field.target);
  if (std::isfinite(limits.min)) {
    text += fmt::format(" {} {}", limits.above_min ? ">" : ">=", limits.min);
  }
  if (std::isfinite(limits.max)) {
    text += fmt::format("{} <= {}", std::isfinite(limits.min) ? "," : "", limits.max);
  }
  return text;
}

nlohmann::json value_as_json(const Field& field) {
  return std::visit(ToJson{field}, field.target);
}

std::string value_as_yaml(const Field& field) {
  return yaml_of(value_as_json(field));
}

}  // namespace kedge::config
