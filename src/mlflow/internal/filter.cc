#include "mlflow/internal/filter.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "mlflow/internal/filter_lexer.h"
#include "mlflow/internal/filter_names.h"
#include "mlflow/internal/filter_reader.h"

namespace kedge::mlflow {
namespace {

struct ComparatorName {
  std::string_view text;
  Comparator comparator;
};

constexpr auto kComparators = std::to_array<ComparatorName>({
    {"=", Comparator::Equal},
    {"!=", Comparator::NotEqual},
    {">", Comparator::Greater},
    {">=", Comparator::GreaterEqual},
    {"<", Comparator::Less},
    {"<=", Comparator::LessEqual},
    {"LIKE", Comparator::Like},
    {"ILIKE", Comparator::ILike},
    {"IN", Comparator::In},
    {"NOT IN", Comparator::NotIn},
    {"IS NULL", Comparator::IsNull},
    {"IS NOT NULL", Comparator::IsNotNull},
});

std::optional<double> parse_filter_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_whole = end == text.data() + text.size() && !text.empty();
  if (is_whole && error == std::errc::result_out_of_range) {
    return text.find("e-") != std::string_view::npos ? 0.0 : HUGE_VAL;
  }
  return is_whole && error == std::errc() ? std::optional(value) : std::nullopt;
}

bool is_quoted(const Piece& piece) {
  return piece.kind == Piece::Kind::Text ||
         (piece.kind == Piece::Kind::Name && piece.text.size() > 1 && piece.text.front() == '"' &&
          piece.text.back() == '"');
}

Outcome<std::vector<std::string>> parse_list(std::string_view text) {
  std::vector<std::string> list;
  bool is_separated = true;
  for (const Piece& piece : cut_filter(text.substr(1, text.size() - 2))) {
    if (piece.text == ",") {
      is_separated = true;
    } else if (is_quoted(piece) && is_separated) {
      list.emplace_back(unquoted(piece.text));
      is_separated = false;
    } else {
      return refuse(
          fmt::format("While parsing a list in the query, expected string value, "
                      "punctuation, or whitespace, but got different type in list: {}",
                      text));
    }
  }
  if (list.empty()) {
    return refuse(
        "While parsing a list in the query, expected a non-empty list of string values, "
        "but got empty list");
  }
  return list;
}

std::unexpected<Fault> unquoted_value(std::string_view text) {
  return refuse(
      fmt::format("Parameter value is either not quoted or unidentified quote types used "
                  "for string value {}. Use either single or double quotes.",
                  text));
}

Outcome<void> read_number(const Piece& value, std::string_view of_what, bool may_be_quoted,
                          Clause& clause) {
  const std::string_view text =
      may_be_quoted && is_quoted(value) ? unquoted(value.text) : value.text;
  const auto number = value.kind == Piece::Kind::Number || (may_be_quoted && is_quoted(value))
                          ? parse_filter_number(text)
                          : std::nullopt;
  if (!number) {
    return refuse(fmt::format("Expected numeric value type for {}. Found {}", of_what, value.text));
  }
  clause.is_numeric = true;
  clause.number = *number;
  return {};
}

Outcome<void> read_text(const Piece& value, std::string_view of_what, Clause& clause) {
  if (value.kind == Piece::Kind::Name && !is_quoted(value)) {
    return unquoted_value(value.text);
  }
  if (!is_quoted(value)) {
    return refuse(
        fmt::format("Expected a quoted string value for {}. Got value {}", of_what, value.text));
  }
  clause.text = unquoted(value.text);
  return {};
}

Outcome<void> read_value(const Piece& value, const Identifier& name, const Language& language,
                         Clause& clause) {
  switch (name.entity) {
    case Entity::Metric:
      return read_number(value, "metric", false, clause);
    case Entity::Parameter:
      return read_text(value, "parameter (e.g. 'my-value')", clause);
    case Entity::Tag:
      return read_text(value, "tag (e.g. 'my-value')", clause);
    case Entity::Dataset:
    case Entity::Attribute:
      break;
  }
  const bool is_dataset = name.entity == Entity::Dataset;
  if (name.rule != nullptr && name.rule->is_numeric) {
    return read_number(value, fmt::format("numeric attribute: {}", name.rule->name),
                       name.rule->takes_quoted_number, clause);
  }
  if (value.kind == Piece::Kind::List) {
    if (!is_dataset && !name.rule->takes_list) {
      return refuse(
          fmt::format("Only {} attributes support comparison with a list of quoted string values.",
                      language.list_keys));
    }
    clause.list = KEDGE_TRY(parse_list(value.text));
    return {};
  }
  return read_text(value, is_dataset ? "dataset attributes" : "attributes", clause);
}

bool is_allowed(const Clause& clause, const Language& language) {
  switch (clause.comparator) {
    case Comparator::Equal:
    case Comparator::NotEqual:
      return clause.list.empty();
    case Comparator::Greater:
    case Comparator::GreaterEqual:
    case Comparator::Less:
    case Comparator::LessEqual:
      return clause.is_numeric;
    case Comparator::Like:
    case Comparator::ILike:
      return !clause.is_numeric && clause.list.empty();
    case Comparator::In:
    case Comparator::NotIn:
      return !clause.list.empty();
    case Comparator::IsNull:
    case Comparator::IsNotNull:
      break;
  }
  return clause.entity == Entity::Tag ||
         (clause.entity == Entity::Parameter && language.has_params_null);
}

std::unexpected<Fault> bad_comparator(std::string_view comparator, const Clause& clause) {
  const std::string_view valid = clause.is_numeric ? "'!=', '<', '<=', '=', '>', '>='"
                                 : clause.entity == Entity::Dataset || !clause.list.empty()
                                     ? "'!=', '=', 'ILIKE', 'IN', 'LIKE', 'NOT IN'"
                                     : "'!=', '=', 'ILIKE', 'LIKE'";
  return refuse(fmt::format("Invalid comparator '{}' not one of '{{{}}}'", comparator, valid));
}

std::string_view entity_name(Entity entity) {
  constexpr std::array<std::string_view, 5> kNames = {"metric", "parameter", "tag", "attribute",
                                                      "dataset"};
  return kNames.at(static_cast<std::size_t>(entity));
}

Outcome<Clause> understand(const Sentence& sentence, const Language& language) {
  const Identifier name = KEDGE_TRY(parse_identifier(sentence.name.text, language, Use::Filter));
  Clause clause{.entity = name.entity, .key = name.key};
  const auto found =
      std::ranges::find(kComparators, std::string_view(sentence.comparator), &ComparatorName::text);
  if (sentence.comparator.starts_with("IS ")) {
    clause.comparator = found->comparator;
    if (!is_allowed(clause, language)) {
      return refuse(fmt::format(
          "IS NULL / IS NOT NULL is only supported for tags{}, not for '{}' '{}'",
          language.has_params_null ? " and params" : "", entity_name(name.entity), name.key));
    }
    return clause;
  }
  KEDGE_TRY(read_value(sentence.value, name, language, clause));
  if (found == kComparators.end()) {
    return bad_comparator(sentence.comparator, clause);
  }
  clause.comparator = found->comparator;
  const bool is_small =
      language.is_upper_case && upper_case(sentence.as_written) != sentence.as_written;
  if (is_small || !is_allowed(clause, language)) {
    return bad_comparator(is_small ? sentence.as_written : sentence.comparator, clause);
  }
  return clause;
}

}  // namespace

Outcome<std::vector<Clause>> parse_filter(std::string_view text, const Language& language) {
  if (text.size() > kMaxFilterBytes) {
    return refuse(
        fmt::format("the filter has {} bytes; at most {} are taken", text.size(), kMaxFilterBytes));
  }
  std::vector<Clause> clauses;
  for (const Sentence& sentence : KEDGE_TRY(read_sentences(text, language.is_quoting_clauses))) {
    clauses.push_back(KEDGE_TRY(understand(sentence, language)));
  }
  return clauses;
}

Outcome<OrderTerm> parse_order(std::string_view text, const Language& language) {
  const auto refused = [&] {
    return refuse(fmt::format("Invalid order_by clause '{}'. Could not be parsed.", text));
  };
  if (text.size() > kMaxFilterBytes) {
    return refused();
  }
  const auto pieces = cut_filter(text);
  if (pieces.empty() || pieces.size() > 2 || pieces[0].kind != Piece::Kind::Name) {
    return refused();
  }
  OrderTerm term;
  if (pieces.size() == 2) {
    const std::string direction = upper_case(pieces[1].text);
    if (pieces[1].kind != Piece::Kind::Name) {
      return refused();
    }
    if (direction != "ASC" && direction != "DESC") {
      return refuse(fmt::format("Invalid ordering key in order_by clause '{}'.", text));
    }
    term.is_ascending = direction == "ASC";
  } else if (const std::string word = upper_case(pieces[0].text); word == "DESC" || word == "ASC") {
    return refused();
  }
  const Identifier name = KEDGE_TRY(parse_identifier(pieces[0].text, language, Use::Order));
  if (name.entity == Entity::Dataset) {
    return refuse("Invalid identifier type 'dataset'");
  }
  term.entity = name.entity;
  term.key = name.key;
  return term;
}

}  // namespace kedge::mlflow
