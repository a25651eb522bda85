// MLflow's search language: `metrics.loss < 0.1 AND tags.team LIKE 'v%'`. What may be asked for
// differs by subject (runs, experiments, models, ...): that is a Language; the rest is one grammar.
// It parses to clauses, all of which must hold; what is wrong is told in MLflow's words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mlflow/internal/fault.h"

namespace kedge::mlflow {

enum class Entity : std::uint8_t { Metric, Parameter, Tag, Attribute, Dataset };

enum class Comparator : std::uint8_t {
  Equal,
  NotEqual,
  Greater,
  GreaterEqual,
  Less,
  LessEqual,
  Like,
  ILike,
  In,
  NotIn,
  IsNull,
  IsNotNull,
};

struct Clause {
  Entity entity = Entity::Attribute;
  std::string key;
  Comparator comparator = Comparator::Equal;
  bool is_numeric = false;  // then `number` is compared, otherwise `text` or `list`
  double number = 0;
  std::string text = {};
  std::vector<std::string> list = {};
};

struct OrderTerm {
  Entity entity = Entity::Attribute;
  std::string key;
  bool is_ascending = true;

  bool operator==(const OrderTerm&) const = default;
};

struct EntityName {
  std::string_view name;
  Entity entity;
};

struct AttributeRule {
  std::string_view name;
  std::string_view meaning;  // of names that mean the same
  bool is_numeric = false;
  bool takes_list = false;
  bool takes_quoted_number = false;
  bool is_ordered_by = true;
  bool is_filtered_by = true;
};

struct Language {
  std::span<const EntityName> entities;
  std::string_view entity_hint;  // "Valid values are [...]"
  std::span<const AttributeRule> attributes;
  std::string_view list_keys;      // of the message: "['run_id']"
  bool is_quoting_clauses = true;  // in the message: 'OR' or OR
  bool has_params_null = true;     // IS NULL of parameters
  bool is_upper_case = false;      // LIKE, not like
};

extern const Language kRunLanguage;
extern const Language kExperimentLanguage;
extern const Language kRegisteredModelLanguage;
extern const Language kModelVersionLanguage;
extern const Language kLoggedModelLanguage;

inline constexpr std::size_t kMaxFilterBytes = 64UL << 10U;

Outcome<std::vector<Clause>> parse_filter(std::string_view text, const Language& language);
Outcome<OrderTerm> parse_order(std::string_view text, const Language& language);

// A value that is not there passes only IS NULL.
bool matches_text(const Clause& clause, std::optional<std::string_view> value);
bool matches_number(const Clause& clause, std::optional<double> value);

// Whether all of `text` is like `pattern`: % stands for any characters, _ for one. Takes time in
// proportion to the product of both at worst.
bool is_like(std::string_view text, std::string_view pattern, bool is_case_sensitive);

}  // namespace kedge::mlflow
