// What a name in a filter or an order means: its entity, its key and, of attributes, the rule.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "mlflow/internal/fault.h"
#include "mlflow/internal/filter.h"

namespace kedge::mlflow {

struct Identifier {
  Entity entity = Entity::Attribute;
  std::string key = {};
  const AttributeRule* rule = nullptr;  // of attributes
};

enum class Use : std::uint8_t { Filter, Order };

Outcome<Identifier> parse_identifier(std::string_view text, const Language& language, Use use);

}  // namespace kedge::mlflow
