// Section is where a config struct describes its fields: name, meaning and limits, beside the
// defaults that the struct's members already hold. Everything else (reading YAML, overrides,
// `config show`, the reference page, the effective file of a run) works from the Fields so listed.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/units.h"

namespace kedge::config {

// What a field may be beyond its type.
struct Limits {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  bool above_min = false;                 // min itself is not allowed
  std::vector<std::string> choices = {};  // non-empty: one of these
};

inline Limits at_least(double min) {
  return {.min = min};
}

inline Limits between(double min, double max) {
  return {.min = min, .max = max};
}

inline Limits above(double min) {
  return {.min = min, .above_min = true};
}

inline Limits one_of(std::vector<std::string> choices) {
  return {.choices = std::move(choices)};
}

// Where a field's value lives. Enums are held as an int through their list of names.
struct EnumTarget {
  std::function<int()> get;
  std::function<void(int)> set;
};

using Target =
    std::variant<bool*, std::int64_t*, double*, std::string*, Bytes*, Seconds*,
                 std::optional<std::int64_t>*, std::optional<double>*, std::optional<bool>*,
                 std::vector<std::string>*, std::vector<std::int64_t>*, std::vector<double>*,
                 std::map<std::string, std::string>*, std::map<std::string, double>*, EnumTarget>;

struct Field {
  std::string path;  // "optimizer.lr"
  std::string doc;
  Limits limits;
  Target target;
  std::string origin = "default";  // who set it last: "config.yaml:12", "command line", ...
};

// The names of an enum's values, in order; specialise as `enum_names(E)` next to the enum.
template <typename E>
concept NamedEnum = std::is_enum_v<E> && requires(E value) { enum_names(value); };

template <NamedEnum E>
std::string_view name_of(E value) {
  return enum_names(value)[static_cast<std::size_t>(value)];
}

class Section {
 public:
  Section(std::string prefix, std::vector<Field>& fields)
      : prefix_(std::move(prefix)), fields_(fields) {}

  template <typename T>
  void field(std::string_view name, T& value, std::string_view doc, Limits limits = {}) {
    if constexpr (NamedEnum<T>) {
      for (const std::string_view choice : enum_names(value)) {
        limits.choices.emplace_back(choice);
      }
      add(name, doc, std::move(limits),
          EnumTarget{[&value] { return static_cast<int>(value); },
                     [&value](int index) { value = static_cast<T>(index); }});
    } else {
      add(name, doc, std::move(limits), &value);
    }
  }

  // A nested struct with its own `describe(Section&)`.
  template <typename T>
  void section(std::string_view name, T& value) {
    Section inner(join(name), fields_);
    value.describe(inner);
  }

 private:
  void add(std::string_view name, std::string_view doc, Limits limits, Target target) {
    fields_.push_back({join(name), std::string(doc), std::move(limits), std::move(target)});
  }

  std::string join(std::string_view name) const {
    return prefix_.empty() ? std::string(name) : prefix_ + "." + std::string(name);
  }

  std::string prefix_;
  std::vector<Field>& fields_;
};

}  // namespace kedge::config
