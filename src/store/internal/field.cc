#include "store/internal/field.h"

#include <algorithm>
#include <array>
#include <iterator>

#include <fmt/format.h>

#include "core/nearest.h"

namespace kedge::store {
namespace {

struct FactName {
  std::string_view name;
  RunFact fact;
  FieldType type = FieldType::Text;
};

constexpr std::array kFacts = {
    FactName{"id", RunFact::Id},
    FactName{"name", RunFact::Name},
    FactName{"project", RunFact::Project},
    FactName{"state", RunFact::State},
    FactName{"user", RunFact::User},
    FactName{"host", RunFact::Host},
    FactName{"group", RunFact::Group},
    FactName{"job_type", RunFact::JobType},
    FactName{"source", RunFact::Source},
    FactName{"notes", RunFact::Notes},
    FactName{"parent", RunFact::Parent},
    FactName{"sweep", RunFact::Sweep},
    FactName{"created", RunFact::Created, FieldType::Time},
    FactName{"ended", RunFact::Ended, FieldType::Time},
    FactName{"heartbeat", RunFact::Heartbeat, FieldType::Time},
    FactName{"duration", RunFact::Duration, FieldType::Duration},
    FactName{"attempt", RunFact::Attempt, FieldType::Number},
    FactName{"last_step", RunFact::LastStep, FieldType::Number},
};

std::optional<SummaryPart> part_named(const Segment& segment) {
  static constexpr std::array<std::pair<std::string_view, SummaryPart>, 5> kParts = {{
      {"last", SummaryPart::Last},
      {"min", SummaryPart::Min},
      {"max", SummaryPart::Max},
      {"count", SummaryPart::Count},
      {"last_step", SummaryPart::LastStep},
  }};
  for (const auto& [name, part] : kParts) {
    if (!segment.is_quoted && segment.text == name) {
      return part;
    }
  }
  return std::nullopt;
}

std::optional<FieldName::Kind> kind_named(std::string_view word) {
  if (word == "config") {
    return FieldName::Kind::Config;
  }
  if (word == "summary") {
    return FieldName::Kind::Summary;
  }
  return word == "label" ? std::optional(FieldName::Kind::Label) : std::nullopt;
}

std::string join(std::span<const Segment> parts) {
  std::string key;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    key += (i > 0 ? "." : "") + parts[i].text;
  }
  return key;
}

// The distance to every name is measured: not for names or lists of any length.
std::string near_name(const std::string& key, std::vector<std::string> names) {
  constexpr std::size_t kLongest = 128;
  constexpr std::size_t kMost = 5000;
  if (key.size() > kLongest) {
    return {};
  }
  std::erase_if(names, [](const std::string& name) { return name.size() > kLongest; });
  names.resize(std::min(names.size(), kMost));
  return nearest_name(key, names);
}

std::optional<KeyId> find_key(const FieldName& name, const QueryKeys& keys) {
  switch (name.kind) {
    case FieldName::Kind::Config:
      return keys.find_config(name.key);
    case FieldName::Kind::Label:
      return keys.find_label(name.key);
    default:
      return keys.find_metric(name.key);
  }
}

std::string unknown_key(const FieldName& name, const QueryKeys& keys) {
  std::string_view what = "metric";
  std::vector<std::string> known;
  if (name.kind == FieldName::Kind::Config) {
    what = "config key";
    known = keys.config_names();
  } else if (name.kind == FieldName::Kind::Label) {
    what = "label";
    known = keys.label_names();
  } else {
    known = field_names();
    std::ranges::move(keys.metric_names(), std::back_inserter(known));
  }
  const std::string near = near_name(name.key, std::move(known));
  return fmt::format("no run has the {} '{}'{}", what, name.key,
                     near.empty() ? "" : "; did you mean '" + near + "'?");
}

}  // namespace

const std::vector<std::string>& field_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all = {"tag", "config", "summary", "label"};
    for (const FactName& fact : kFacts) {
      all.emplace_back(fact.name);
    }
    return all;
  }();
  return names;
}

FieldType type_of(const FieldName& field) {
  if (field.kind == FieldName::Kind::Tag || field.kind == FieldName::Kind::Label) {
    return FieldType::Text;
  }
  if (field.kind != FieldName::Kind::Fact) {
    return FieldType::Any;
  }
  return std::ranges::find(kFacts, field.fact, &FactName::fact)->type;
}

Result<FieldName> field_of(const Token& token) {
  if (token.kind != TokenKind::Bare) {
    return std::unexpected(query_error(
        token.column, fmt::format("expected a field, got {}", shown(token)),
        "a field is a metric, config.KEY, summary.KEY.min, or one of: tag, state, name, created, "
        "...; names that are no plain words go between backquotes"));
  }
  std::span<const Segment> parts = token.parts;
  const bool is_plain = !parts[0].is_quoted;
  if (parts.size() == 1 && is_plain) {
    const auto fact = std::ranges::find(kFacts, parts[0].text, &FactName::name);
    if (fact != kFacts.end()) {
      return FieldName{.kind = FieldName::Kind::Fact, .fact = fact->fact, .key = {}};
    }
    if (parts[0].text == "tag") {
      return FieldName{.kind = FieldName::Kind::Tag, .key = {}};
    }
  }
  FieldName field{.kind = FieldName::Kind::Summary, .key = {}};
  if (const auto kind = is_plain ? kind_named(parts[0].text) : std::nullopt) {
    field.kind = *kind;
    parts = parts.subspan(1);
  }
  if (field.kind == FieldName::Kind::Summary && parts.size() > 1) {
    if (const auto part = part_named(parts.back())) {
      field.part = *part;
      parts = parts.first(parts.size() - 1);
    }
  }
  field.key = join(parts);
  if (field.key.empty()) {
    return std::unexpected(query_error(
        token.column, fmt::format("expected a key after {}", shown(token)), "write config.KEY"));
  }
  return field;
}

QueryValue value_of(const BoundField& field, const QueriedRun& run) {
  switch (field.name.kind) {
    case FieldName::Kind::Fact:
      return run.fact(field.name.fact);
    case FieldName::Kind::Config:
      return field.key ? run.config(*field.key) : QueryValue();
    case FieldName::Kind::Summary:
      return field.key ? run.summary(*field.key, field.name.part) : QueryValue();
    case FieldName::Kind::Label:
      return field.key ? run.label(*field.key) : QueryValue();
    case FieldName::Kind::Tag:
      break;
  }
  return {};
}

BoundField bind_field(FieldName name, const QueryKeys& keys, std::vector<std::string>* warnings) {
  BoundField field{.name = std::move(name)};
  if (field.name.kind == FieldName::Kind::Fact || field.name.kind == FieldName::Kind::Tag) {
    return field;
  }
  field.key = find_key(field.name, keys);
  if (!field.key && warnings != nullptr) {
    warnings->push_back(unknown_key(field.name, keys));
  }
  return field;
}

}  // namespace kedge::store
