#include "mlflow/internal/filter_names.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "mlflow/internal/filter_lexer.h"

namespace kedge::mlflow {
namespace {

Outcome<const AttributeRule*> find_attribute(std::string_view key, const Language& language,
                                             Use use) {
  std::vector<std::string> names;
  for (const AttributeRule& rule : language.attributes) {
    if (use == Use::Filter ? !rule.is_filtered_by : !rule.is_ordered_by) {
      continue;
    }
    if (rule.name == key) {
      return &rule;
    }
    names.push_back(fmt::format("'{}'", rule.name));
  }
  return refuse(fmt::format("Invalid attribute key '{}' specified. Valid keys are '{{{}}}'", key,
                            fmt::join(names, ", ")));
}

// "tags.`a b`" is split at the first dot outside quotes.
std::pair<std::string_view, std::string_view> split_name(std::string_view text) {
  const bool is_quoted = !text.empty() && (text[0] == '`' || text[0] == '"');
  const auto end = is_quoted ? text.find(text[0], 1) : 0;
  const auto dot = text.find('.', std::min(end, text.size()));
  return dot == std::string_view::npos
             ? std::pair(std::string_view(), unquoted(text))
             : std::pair(unquoted(text.substr(0, dot)), unquoted(text.substr(dot + 1)));
}

}  // namespace

Outcome<Identifier> parse_identifier(std::string_view text, const Language& language, Use use) {
  Identifier found;
  const auto [entity, key] = split_name(text);
  if (!entity.empty()) {
    const auto named = std::ranges::find(language.entities, entity, &EntityName::name);
    if (named == language.entities.end()) {
      return refuse(fmt::format("Invalid entity type '{}'. {}", entity, language.entity_hint));
    }
    found.entity = named->entity;
  }
  found.key = key;
  if (found.entity == Entity::Attribute) {
    found.rule = KEDGE_TRY(find_attribute(key, language, use));
    found.key = found.rule->meaning;
  } else if (found.entity == Entity::Dataset && key != "name" && key != "digest" &&
             key != "context") {
    return refuse(
        fmt::format("Invalid dataset key '{}' specified. Valid keys are '{{'context', "
                    "'digest', 'name'}}'",
                    key));
  }
  return found;
}

}  // namespace kedge::mlflow
