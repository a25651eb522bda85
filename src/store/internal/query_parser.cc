#include <array>

#include <fmt/format.h>

#include "core/nearest.h"
#include "store/internal/query_plan.h"
#include "store/pattern.h"

namespace kedge::store {
namespace {

// any = all {"or" all};  all = not {"and" not};  not = "not" not | "(" any ")" | condition
class QueryParser {
 public:
  QueryParser(std::vector<Token> tokens, const QueryKeys& keys, std::int64_t now_us)
      : tokens_(std::move(tokens)), keys_(keys), now_us_(now_us) {}

  Result<QueryPlan> parse() {
    if (peek().kind == TokenKind::End) {
      plan_.root = add({.kind = NodeKind::All});
      return std::move(plan_);
    }
    plan_.root = KEDGE_TRY(parse_any(0));
    if (peek().kind != TokenKind::End) {
      return expected("'and', 'or' or the end");
    }
    return std::move(plan_);
  }

 private:
  const Token& peek() const { return tokens_[at_]; }

  Token take() { return tokens_[peek().kind == TokenKind::End ? at_ : at_++]; }

  bool take(TokenKind kind) {
    const bool is_there = peek().kind == kind;
    at_ += is_there ? 1 : 0;
    return is_there;
  }

  bool take_word(std::string_view word) {
    const bool is_there = peek().is_word(word);
    at_ += is_there ? 1 : 0;
    return is_there;
  }

  std::unexpected<Error> expected(std::string_view what, std::string hint = {}) const {
    return std::unexpected(query_error(
        peek().column, fmt::format("expected {}, got {}", what, shown(peek())), std::move(hint)));
  }

  std::uint32_t add(QueryNode node) {
    plan_.nodes.push_back(std::move(node));
    return static_cast<std::uint32_t>(plan_.nodes.size() - 1);
  }

  Result<std::uint32_t> parse_any(std::size_t depth) {
    std::vector<std::uint32_t> parts = {KEDGE_TRY(parse_all(depth))};
    while (take_word("or")) {
      parts.push_back(KEDGE_TRY(parse_all(depth)));
    }
    return parts.size() == 1 ? parts[0] : add({.kind = NodeKind::Any, .children = parts});
  }

  Result<std::uint32_t> parse_all(std::size_t depth) {
    std::vector<std::uint32_t> parts = {KEDGE_TRY(parse_not(depth))};
    while (take_word("and")) {
      parts.push_back(KEDGE_TRY(parse_not(depth)));
    }
    return parts.size() == 1 ? parts[0] : add({.kind = NodeKind::All, .children = parts});
  }

  Result<std::uint32_t> parse_not(std::size_t depth) {
    if (depth > kMaxQueryDepth) {
      return std::unexpected(query_error(
          peek().column, fmt::format("more than {} levels of parentheses and 'not'", depth - 1)));
    }
    if (take_word("not")) {
      return negated(KEDGE_TRY(parse_not(depth + 1)));
    }
    if (take(TokenKind::LeftParen)) {
      const std::uint32_t inner = KEDGE_TRY(parse_any(depth + 1));
      if (!take(TokenKind::RightParen)) {
        return expected("'and', 'or' or ')'");
      }
      return inner;
    }
    return parse_condition();
  }

  std::uint32_t negated(std::uint32_t node) {
    return add({.kind = NodeKind::Not, .children = {node}});
  }

  Result<std::uint32_t> parse_condition() {
    if (take_word("exists")) {
      const Token name = take();
      return add({.kind = NodeKind::Exists, .field = KEDGE_TRY(bind(name))});
    }
    KEDGE_TRY(refuse_reserved());
    const Token name = take();
    const FieldName field = KEDGE_TRY(field_of(name));
    if (take_word("not")) {
      if (!take_word("in")) {
        return expected("'in' after 'not'");
      }
      return negated(KEDGE_TRY(parse_list(name, field)));
    }
    if (take_word("in")) {
      return parse_list(name, field);
    }
    return parse_comparison(name, field);
  }

  // A reserved word where a field should stand is a slip, not a metric of that name.
  Result<void> refuse_reserved() const {
    for (const std::string_view word : {"and", "or", "in"}) {
      if (peek().is_word(word)) {
        return expected("a field", fmt::format("a metric of that name is written `{}`", word));
      }
    }
    return {};
  }

  Result<BoundField> bind(const Token& name) {
    return bind_field(KEDGE_TRY(field_of(name)), keys_, &plan_.warnings);
  }

  // A metric is never text: with a name that no run has, near to a fact's, it is a slip.
  Result<BoundField> bind_compared(const Token& name, bool with_text) {
    const FieldName field = KEDGE_TRY(field_of(name));
    const bool is_bare_metric = field.kind == FieldName::Kind::Summary &&
                                !name.parts[0].is_quoted && name.parts[0].text != "summary";
    if (with_text && is_bare_metric && field.key.size() < 32 && !keys_.find_metric(field.key)) {
      if (const std::string near = nearest_name(field.key, field_names()); !near.empty()) {
        return std::unexpected(query_error(
            name.column,
            fmt::format("no field or metric is named '{}'; did you mean '{}'?", field.key, near),
            fmt::format("fields: {}", fmt::join(field_names(), ", "))));
      }
    }
    return bind(name);
  }

  Result<std::uint32_t> parse_list(const Token& name, const FieldName& field) {
    if (!take(TokenKind::LeftBracket)) {
      return expected("'[' after 'in'", "a list is [1, 2, 3]");
    }
    QueryNode node{.kind = NodeKind::OneOf};
    bool has_text = false;
    while (!take(TokenKind::RightBracket)) {
      if (!node.literals.empty() && !take(TokenKind::Comma)) {
        return expected("',' or ']'");
      }
      node.literals.push_back(KEDGE_TRY(literal_of(take(), type_of(field), now_us_)));
      has_text |= std::holds_alternative<std::string>(node.literals.back());
    }
    node.field = KEDGE_TRY(bind_compared(name, has_text));
    return add(std::move(node));
  }

  Result<std::uint32_t> parse_comparison(const Token& name, const FieldName& field) {
    const Token comparison = peek();
    const bool is_comparison =
        comparison.kind >= TokenKind::Equal && comparison.kind <= TokenKind::NotMatch;
    if (!is_comparison) {
      return expected(fmt::format("=, !=, <, <=, >, >=, ~, !~ or 'in' after {}", shown(name)),
                      near_hint(field));
    }
    take();
    const Token value = take();
    if (comparison.kind == TokenKind::Match || comparison.kind == TokenKind::NotMatch) {
      const std::uint32_t match = KEDGE_TRY(parse_match(name, field, value));
      return comparison.kind == TokenKind::Match ? match : negated(match);
    }
    QueryNode node{.kind = NodeKind::Compare, .comparison = comparison.kind};
    node.literals.push_back(KEDGE_TRY(literal_of(value, type_of(field), now_us_)));
    node.field =
        KEDGE_TRY(bind_compared(name, std::holds_alternative<std::string>(node.literals[0])));
    return add(std::move(node));
  }

  // `is runing`, `sate finished`: what the word may have meant.
  std::string near_hint(const FieldName& field) const {
    if (field.kind != FieldName::Kind::Summary || keys_.find_metric(field.key) ||
        field.key.size() >= 32) {
      return {};
    }
    const std::string near = nearest_name(field.key, field_names());
    return near.empty() ? "" : fmt::format("did you mean '{}'?", near);
  }

  Result<std::uint32_t> parse_match(const Token& name, const FieldName& field, const Token& value) {
    if (type_of(field) != FieldType::Text && type_of(field) != FieldType::Any) {
      return std::unexpected(query_error(
          name.column, fmt::format("{} is no text, which ~ is for", shown(name)), "use <, = or >"));
    }
    if (value.kind != TokenKind::Text && value.kind != TokenKind::Bare) {
      return std::unexpected(
          query_error(value.column, fmt::format("expected a pattern, got {}", shown(value))));
    }
    Result<Pattern> pattern = Pattern::compile(value.text);
    if (!pattern) {
      return std::unexpected(
          query_error(value.column, pattern.error().message, pattern.error().hint));
    }
    return add({.kind = NodeKind::Match,
                .field = KEDGE_TRY(bind_compared(name, true)),
                .is_match = [pattern = *std::move(pattern)](std::string_view text) {
                  return pattern.is_in(text);
                }});
  }

  std::vector<Token> tokens_;
  const QueryKeys& keys_;
  std::int64_t now_us_;
  std::size_t at_ = 0;
  QueryPlan plan_;
};

}  // namespace

Result<QueryPlan> parse_query(std::string_view text, const QueryKeys& keys, std::int64_t now_us) {
  return QueryParser(KEDGE_TRY(split_query(text)), keys, now_us).parse();
}

}  // namespace kedge::store
