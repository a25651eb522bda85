#include <algorithm>

#include "core/utf8.h"
#include "mlflow/internal/filter.h"

namespace kedge::mlflow {
namespace {

char small_letter(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

bool is_like(std::string_view text, std::string_view pattern, bool is_case_sensitive) {
  const auto same = [&](char a, char b) {
    return is_case_sensitive ? a == b : small_letter(a) == small_letter(b);
  };
  // Where to go on when what stands behind the last % does not fit.
  std::string_view text_again;
  std::string_view pattern_again;
  bool can_go_back = false;
  while (!text.empty()) {
    if (!pattern.empty() && pattern[0] == '%') {
      pattern.remove_prefix(1);
      text_again = text;
      pattern_again = pattern;
      can_go_back = true;
    } else if (!pattern.empty() && pattern[0] == '_') {
      pattern.remove_prefix(1);
      take_character(text);
    } else if (!pattern.empty() && same(pattern[0], text[0])) {
      pattern.remove_prefix(1);
      text.remove_prefix(1);
    } else if (can_go_back) {
      take_character(text_again);
      text = text_again;
      pattern = pattern_again;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('%') == std::string_view::npos;
}

bool matches_text(const Clause& clause, std::optional<std::string_view> value) {
  if (!value || clause.comparator == Comparator::IsNull) {
    return !value && clause.comparator == Comparator::IsNull;
  }
  switch (clause.comparator) {
    case Comparator::Equal:
      return *value == clause.text;
    case Comparator::NotEqual:
      return *value != clause.text;
    case Comparator::Like:
      return is_like(*value, clause.text, true);
    case Comparator::ILike:
      return is_like(*value, clause.text, false);
    case Comparator::In:
      return std::ranges::find(clause.list, *value) != clause.list.end();
    case Comparator::NotIn:
      return std::ranges::find(clause.list, *value) == clause.list.end();
    case Comparator::IsNotNull:
      return true;
    default:
      return false;
  }
}

bool matches_number(const Clause& clause, std::optional<double> value) {
  if (!value) {
    return clause.comparator == Comparator::IsNull;
  }
  switch (clause.comparator) {
    case Comparator::Equal:
      return *value == clause.number;
    case Comparator::NotEqual:
      return *value != clause.number;
    case Comparator::Greater:
      return *value > clause.number;
    case Comparator::GreaterEqual:
      return *value >= clause.number;
    case Comparator::Less:
      return *value < clause.number;
    case Comparator::LessEqual:
      return *value <= clause.number;
    default:
      return clause.comparator == Comparator::IsNotNull;
  }
}

}  // namespace kedge::mlflow
