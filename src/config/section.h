// Section is where a config struct describes its fields: name, meaning and all other facts of a
// key, beside the defaults that the struct's members already hold. Everything else (reading YAML,
// overrides, flat workshop files, `config show`, the reference page, the effective file of a run,
// its hash, what may change on resuming) works from the Fields so listed.
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

// A flat key of workshop files that sets the field, too.
struct Alias {
  std::string_view name;
};

// Another word for one of the field's values, as workshop files write it.
struct Means {
  std::string_view word;
  std::string_view value;
};

// Whether the value is part of the config's hash, which names the experiment. A key that is newer
// than runs that should keep their hash is part of it only where it is not its default.
enum class InHash : std::uint8_t { Always, UnlessDefault, Never };

// Another key with the same meaning: whoever sets one sets both. Two values are a mistake.
struct SameAs {
  std::string_view path;
};

// The value cannot change when a run is resumed, and why not.
struct Fixed {
  std::string_view why;
};

// The value may change when a run is resumed, although others of its section are fixed.
inline constexpr Fixed kMayChange = {};

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

// Where a value comes from, later ones over earlier ones. Implied ones are those of a recorded
// config and what a flat workshop file brings with it: nobody wrote them for this run.
enum class Layer : std::uint8_t { Default, Implied, File, Environment, Sweep, CommandLine };

struct Field {
  std::string path;  // "optimizer.lr"
  std::string doc;
  Target target;
  Limits limits = {};
  std::vector<Alias> aliases = {};
  std::vector<Means> words = {};
  SameAs same_as = {};
  InHash in_hash = InHash::Always;
  Fixed fixed = kMayChange;
  std::string origin = "default";  // who set it last: "config.yaml:12", "command line", ...
  Layer layer = Layer::Default;
};

// Whether a person set the value, for this run.
inline bool is_written(const Field& field) {
  return field.layer == Layer::File || field.layer == Layer::Environment ||
         field.layer == Layer::CommandLine;
}

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

  // `facts` are Limits, Alias, Means, SameAs, InHash and Fixed, as many as are needed, in any
  // order.
  template <typename T, typename... Facts>
  void field(std::string_view name, T& value, std::string_view doc, Facts... facts) {
    Field field = common_;
    field.path = join(name);
    field.doc = doc;
    field.target = target_of(value);
    (add_fact(field, std::move(facts)), ...);
    if constexpr (NamedEnum<T>) {
      const auto names = enum_names(value);
      field.limits.choices.assign(names.begin(), names.end());
    }
    fields_.push_back(std::move(field));
  }

  // What holds for every field described after it that does not say otherwise.
  template <typename... Facts>
  void every_field(Facts... facts) {
    (add_fact(common_, facts), ...);
  }

  // A nested struct with its own `describe(Section&)`.
  template <typename T>
  void section(std::string_view name, T& value) {
    Section inner(join(name), fields_);
    value.describe(inner);
  }

 private:
  static void add_fact(Field& field, Limits limits) { field.limits = std::move(limits); }

  static void add_fact(Field& field, Alias alias) { field.aliases.push_back(alias); }

  static void add_fact(Field& field, Means word) { field.words.push_back(word); }

  static void add_fact(Field& field, SameAs other) { field.same_as = other; }

  static void add_fact(Field& field, InHash in_hash) { field.in_hash = in_hash; }

  static void add_fact(Field& field, Fixed fixed) { field.fixed = fixed; }

  template <typename T>
  static Target target_of(T& value) {
    if constexpr (NamedEnum<T>) {
      return EnumTarget{[&value] { return static_cast<int>(value); },
                        [&value](int index) { value = static_cast<T>(index); }};
    } else {
      return &value;
    }
  }

  std::string join(std::string_view name) const {
    return prefix_.empty() ? std::string(name) : prefix_ + "." + std::string(name);
  }

  std::string prefix_;
  std::vector<Field>& fields_;
  Field common_;
};

}  // namespace kedge::config
