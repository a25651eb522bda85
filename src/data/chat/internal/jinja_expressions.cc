#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "data/chat/internal/jinja_builtins.h"
#include "data/chat/internal/jinja_syntax.h"

namespace kedge::data::jinja {
namespace {

using Kind = Expression::Kind;

constexpr std::array<std::string_view, 6> kComparisons = {"==", "!=", "<", "<=", ">", ">="};

// Long chains make deep trees; evaluating and destroying them takes the stack.
Result<ExpressionPtr> not_too_deep(ExpressionPtr made) {
  for (const auto& part : made->parts) {
    made->depth = std::max(made->depth, part == nullptr ? 0 : part->depth + 1);
  }
  for (const auto& [name, part] : made->keywords) {
    made->depth = std::max(made->depth, part->depth + 1);
  }
  if (made->depth > 2 * kMaxNesting) {
    return fail_at(made->line, "an expression has more than 200 steps within each other");
  }
  return made;
}

Result<ExpressionPtr> joined(ExpressionPtr made, ExpressionPtr a, ExpressionPtr b) {
  made->parts.push_back(std::move(a));
  made->parts.push_back(std::move(b));
  return not_too_deep(std::move(made));
}

}  // namespace

Result<void> TokenStream::expect_operator(std::string_view text) {
  if (!take_operator(text)) {
    return fail_at(now().line, fmt::format("'{}' is wanted, not {}", text, shown(now())));
  }
  return {};
}

Result<std::string> TokenStream::expect_name(std::string_view what) {
  if (now().kind != Token::Kind::Name) {
    return fail_at(now().line, fmt::format("{} is wanted, not {}", what, shown(now())));
  }
  return take().text;
}

std::string TokenStream::shown(const Token& token) {
  switch (token.kind) {
    case Token::Kind::End:
    case Token::Kind::Data:
    case Token::Kind::BlockBegin:
    case Token::Kind::PrintBegin:
      return "the end of the tag";
    case Token::Kind::BlockEnd:
      return "'%}'";
    case Token::Kind::PrintEnd:
      return "'}}'";
    default:
      return fmt::format("'{}'", token.text);
  }
}

ExpressionPtr ExpressionParser::make(Kind kind, std::string name) const {
  auto made = std::make_unique<Expression>();
  made->kind = kind;
  made->line = tokens_.now().line;
  made->name = std::move(name);
  return made;
}

Result<ExpressionPtr> ExpressionParser::parse(bool may_be_tuple, bool may_be_choice) {
  ExpressionPtr first = KEDGE_TRY(parse_one(may_be_choice));
  if (!may_be_tuple || !tokens_.now().is_operator(",")) {
    return first;
  }
  auto tuple = make(Kind::Tuple);
  tuple->parts.push_back(std::move(first));
  while (tokens_.take_operator(",")) {
    const Token& now = tokens_.now();
    if (now.kind == Token::Kind::BlockEnd || now.kind == Token::Kind::PrintEnd ||
        now.is_operator(")")) {
      break;
    }
    tuple->parts.push_back(KEDGE_TRY(parse_one(may_be_choice)));
  }
  return not_too_deep(std::move(tuple));
}

Result<ExpressionPtr> ExpressionParser::parse_one(bool may_be_choice) {
  if (++depth_ > kMaxNesting) {
    return fail_at(tokens_.now().line, "expressions are nested deeper than 100");
  }
  ExpressionPtr made = KEDGE_TRY(parse_or());
  while (may_be_choice && tokens_.now().is_name("if")) {
    auto choice = make(Kind::Choice);
    tokens_.take();
    choice->parts.push_back(std::move(made));
    choice->parts.push_back(KEDGE_TRY(parse_or()));
    choice->parts.push_back(tokens_.take_name("else") ? KEDGE_TRY(parse_one(true)) : nullptr);
    made = KEDGE_TRY(not_too_deep(std::move(choice)));
  }
  --depth_;
  return made;
}

Result<ExpressionPtr> ExpressionParser::parse_or() {
  ExpressionPtr made = KEDGE_TRY(parse_and());
  while (tokens_.now().is_name("or")) {
    auto either = make(Kind::Or);
    tokens_.take();
    made = KEDGE_TRY(joined(std::move(either), std::move(made), KEDGE_TRY(parse_and())));
  }
  return made;
}

Result<ExpressionPtr> ExpressionParser::parse_and() {
  ExpressionPtr made = KEDGE_TRY(parse_not());
  while (tokens_.now().is_name("and")) {
    auto both = make(Kind::And);
    tokens_.take();
    made = KEDGE_TRY(joined(std::move(both), std::move(made), KEDGE_TRY(parse_not())));
  }
  return made;
}

Result<ExpressionPtr> ExpressionParser::parse_not() {
  std::vector<ExpressionPtr> nots;
  while (tokens_.now().is_name("not")) {
    nots.push_back(make(Kind::Not));
    tokens_.take();
    if (nots.size() > kMaxNesting) {
      return fail_at(tokens_.now().line, "expressions are nested deeper than 100");
    }
  }
  ExpressionPtr made = KEDGE_TRY(parse_compare());
  for (; !nots.empty(); nots.pop_back()) {
    nots.back()->parts.push_back(std::move(made));
    made = KEDGE_TRY(not_too_deep(std::move(nots.back())));
  }
  return made;
}

Result<ExpressionPtr> ExpressionParser::parse_compare() {
  ExpressionPtr first = KEDGE_TRY(parse_sum());
  auto compare = make(Kind::Compare);
  while (true) {
    const Token& now = tokens_.now();
    const bool is_not_in = now.is_name("not") && tokens_.next().is_name("in");
    const bool is_sign = now.kind == Token::Kind::Operator &&
                         std::ranges::find(kComparisons, now.text) != kComparisons.end();
    if (!is_sign && !is_not_in && !now.is_name("in")) {
      break;
    }
    compare->names.push_back(is_not_in ? "not in" : now.text);
    tokens_.take();
    if (is_not_in) {
      tokens_.take();
    }
    compare->parts.push_back(KEDGE_TRY(parse_sum()));
  }
  if (compare->parts.empty()) {
    return first;
  }
  compare->parts.insert(compare->parts.begin(), std::move(first));
  return not_too_deep(std::move(compare));
}

Result<ExpressionPtr> ExpressionParser::parse_sum() {
  ExpressionPtr made = KEDGE_TRY(parse_concat());
  while (tokens_.now().is_operator("+") || tokens_.now().is_operator("-")) {
    auto sum = make(Kind::Arithmetic, tokens_.now().text);
    tokens_.take();
    made = KEDGE_TRY(joined(std::move(sum), std::move(made), KEDGE_TRY(parse_concat())));
  }
  return made;
}

Result<ExpressionPtr> ExpressionParser::parse_concat() {
  ExpressionPtr first = KEDGE_TRY(parse_product());
  if (!tokens_.now().is_operator("~")) {
    return first;
  }
  auto concat = make(Kind::Concat);
  concat->parts.push_back(std::move(first));
  while (tokens_.take_operator("~")) {
    concat->parts.push_back(KEDGE_TRY(parse_product()));
  }
  return not_too_deep(std::move(concat));
}

Result<ExpressionPtr> ExpressionParser::parse_product() {
  ExpressionPtr made = KEDGE_TRY(parse_power());
  constexpr std::array<std::string_view, 4> kProducts = {"*", "/", "//", "%"};
  while (tokens_.now().kind == Token::Kind::Operator &&
         std::ranges::find(kProducts, tokens_.now().text) != kProducts.end()) {
    auto product = make(Kind::Arithmetic, tokens_.now().text);
    tokens_.take();
    made = KEDGE_TRY(joined(std::move(product), std::move(made), KEDGE_TRY(parse_power())));
  }
  return made;
}

Result<ExpressionPtr> ExpressionParser::parse_power() {
  ExpressionPtr made = KEDGE_TRY(parse_unary(true));
  while (tokens_.now().is_operator("**")) {
    auto power = make(Kind::Arithmetic, "**");
    tokens_.take();
    made = KEDGE_TRY(joined(std::move(power), std::move(made), KEDGE_TRY(parse_unary(true))));
  }
  return made;
}

Result<ExpressionPtr> ExpressionParser::parse_unary(bool with_filters) {
  if (++depth_ > kMaxNesting) {
    return fail_at(tokens_.now().line, "expressions are nested deeper than 100");
  }
  const bool is_minus = tokens_.now().is_operator("-");
  ExpressionPtr made;
  if (is_minus || tokens_.now().is_operator("+")) {
    made = make(is_minus ? Kind::Negative : Kind::Positive);
    tokens_.take();
    made->parts.push_back(KEDGE_TRY(parse_unary(false)));
    made = KEDGE_TRY(not_too_deep(std::move(made)));
  } else {
    made = KEDGE_TRY(parse_primary());
  }
  made = KEDGE_TRY(parse_postfix(std::move(made)));
  --depth_;
  return with_filters ? parse_filter_chain(std::move(made)) : std::move(made);
}

Result<ExpressionPtr> ExpressionParser::parse_primary() {
  const Token& now = tokens_.now();
  auto constant = make(Kind::Constant);
  switch (now.kind) {
    case Token::Kind::Name:
      return parse_name();
    case Token::Kind::Text: {
      std::string text;
      while (tokens_.now().kind == Token::Kind::Text) {
        text += tokens_.take().text;
      }
      constant->value = of_text(std::move(text));
      return constant;
    }
    case Token::Kind::Integer: {
      std::int64_t number = 0;
      const auto end = std::from_chars(now.text.data(), now.text.data() + now.text.size(), number);
      if (end.ec != std::errc()) {
        return fail_at(now.line, fmt::format("the number {} has more than 64 bits", now.text));
      }
      constant->value = of_int(number);
      tokens_.take();
      return constant;
    }
    case Token::Kind::Real:
      constant->value = Value{std::strtod(now.text.c_str(), nullptr)};
      tokens_.take();
      return constant;
    default:
      break;
  }
  if (now.is_operator("(")) {
    return parse_parenthesis();
  }
  if (now.is_operator("[")) {
    return parse_list();
  }
  if (now.is_operator("{")) {
    return parse_dict();
  }
  return fail_at(now.line, fmt::format("a value is wanted, not {}", TokenStream::shown(now)));
}

Result<ExpressionPtr> ExpressionParser::parse_name() {
  const Token token = tokens_.now();
  auto made = make(Kind::Constant);
  tokens_.take();
  if (token.text == "true" || token.text == "True") {
    made->value = of_bool(true);
  } else if (token.text == "false" || token.text == "False") {
    made->value = of_bool(false);
  } else if (token.text != "none" && token.text != "None") {
    made->kind = Kind::Name;
    made->name = token.text;
  }
  return made;
}

Result<ExpressionPtr> ExpressionParser::parse_parenthesis() {
  auto empty = make(Kind::Tuple);
  tokens_.take();
  if (tokens_.take_operator(")")) {
    return empty;
  }
  ExpressionPtr made = KEDGE_TRY(parse(true));
  KEDGE_TRY(tokens_.expect_operator(")"));
  return made;
}

Result<ExpressionPtr> ExpressionParser::parse_list() {
  auto list = make(Kind::List);
  tokens_.take();
  while (!tokens_.take_operator("]")) {
    if (!list->parts.empty()) {
      KEDGE_TRY(tokens_.expect_operator(","));
      if (tokens_.take_operator("]")) {
        break;
      }
    }
    list->parts.push_back(KEDGE_TRY(parse_one(true)));
  }
  return not_too_deep(std::move(list));
}

Result<ExpressionPtr> ExpressionParser::parse_dict() {
  auto dict = make(Kind::Dict);
  tokens_.take();
  while (!tokens_.take_operator("}")) {
    if (!dict->parts.empty()) {
      KEDGE_TRY(tokens_.expect_operator(","));
      if (tokens_.take_operator("}")) {
        break;
      }
    }
    dict->parts.push_back(KEDGE_TRY(parse_one(true)));
    KEDGE_TRY(tokens_.expect_operator(":"));
    dict->parts.push_back(KEDGE_TRY(parse_one(true)));
  }
  return not_too_deep(std::move(dict));
}

Result<ExpressionPtr> ExpressionParser::parse_postfix(ExpressionPtr subject) {
  while (true) {
    if (tokens_.now().is_operator(".")) {
      subject = KEDGE_TRY(parse_attribute(std::move(subject)));
    } else if (tokens_.now().is_operator("[")) {
      subject = KEDGE_TRY(parse_subscript(std::move(subject)));
    } else if (tokens_.now().is_operator("(")) {
      subject = KEDGE_TRY(parse_call(std::move(subject)));
    } else {
      return subject;
    }
  }
}

Result<ExpressionPtr> ExpressionParser::parse_attribute(ExpressionPtr subject) {
  tokens_.take();
  if (tokens_.now().kind == Token::Kind::Integer) {
    auto item = make(Kind::Item);
    ExpressionPtr index = KEDGE_TRY(parse_primary());
    return joined(std::move(item), std::move(subject), std::move(index));
  }
  auto attribute = make(Kind::Attribute);
  attribute->name = KEDGE_TRY(tokens_.expect_name("a name after '.'"));
  attribute->parts.push_back(std::move(subject));
  return not_too_deep(std::move(attribute));
}

Result<ExpressionPtr> ExpressionParser::parse_subscript(ExpressionPtr subject) {
  auto made = make(Kind::Item);
  tokens_.take();
  const auto parse_bound = [this]() -> Result<ExpressionPtr> {
    const bool is_empty = tokens_.now().is_operator(":") || tokens_.now().is_operator("]");
    return is_empty ? Result<ExpressionPtr>(nullptr) : parse_one(true);
  };
  made->parts.push_back(std::move(subject));
  made->parts.push_back(KEDGE_TRY(parse_bound()));
  if (tokens_.now().is_operator(":")) {
    made->kind = Kind::Slice;
    made->parts.resize(4);
    for (std::size_t i = 2; i < 4 && tokens_.take_operator(":"); ++i) {
      made->parts[i] = KEDGE_TRY(parse_bound());
    }
  } else if (made->parts[1] == nullptr) {
    return fail_at(made->line, "'[]' has nothing inside");
  }
  KEDGE_TRY(tokens_.expect_operator("]"));
  return not_too_deep(std::move(made));
}

Result<ExpressionPtr> ExpressionParser::parse_call(ExpressionPtr callee) {
  auto call = make(Kind::Call);
  if (callee->kind == Kind::Attribute && !is_known_method(callee->name)) {
    return std::unexpected(unknown_builtin(callee->line, "method", callee->name));
  }
  call->parts.push_back(std::move(callee));
  KEDGE_TRY(parse_arguments(*call));
  return not_too_deep(std::move(call));
}

Result<void> ExpressionParser::parse_arguments(Expression& call) {
  KEDGE_TRY(tokens_.expect_operator("("));
  bool is_first = true;
  while (!tokens_.take_operator(")")) {
    if (!std::exchange(is_first, false)) {
      KEDGE_TRY(tokens_.expect_operator(","));
      if (tokens_.take_operator(")")) {
        break;
      }
    }
    const Token now = tokens_.now();
    if (now.is_operator("*") || now.is_operator("**")) {
      return fail_at(now.line, fmt::format("'{}' before an argument is not supported", now.text));
    }
    if (now.kind == Token::Kind::Name && tokens_.next().is_operator("=")) {
      tokens_.take();
      tokens_.take();
      call.keywords.emplace_back(now.text, KEDGE_TRY(parse_one(true)));
    } else if (call.keywords.empty()) {
      call.parts.push_back(KEDGE_TRY(parse_one(true)));
    } else {
      return fail_at(now.line, "an argument without a name follows one with a name");
    }
  }
  return {};
}

Result<ExpressionPtr> ExpressionParser::parse_filter_chain(ExpressionPtr subject) {
  while (true) {
    if (tokens_.now().is_operator("|")) {
      subject = KEDGE_TRY(parse_filters(std::move(subject), false));
    } else if (tokens_.now().is_name("is")) {
      subject = KEDGE_TRY(parse_test(std::move(subject)));
    } else if (tokens_.now().is_operator("(")) {
      subject = KEDGE_TRY(parse_call(std::move(subject)));
    } else {
      return subject;
    }
  }
}

Result<ExpressionPtr> ExpressionParser::parse_filters(ExpressionPtr subject, bool is_first_bare) {
  while (std::exchange(is_first_bare, false) || tokens_.take_operator("|")) {
    auto filter = make(Kind::Filter);
    filter->name = KEDGE_TRY(tokens_.expect_name("a filter's name"));
    if (!is_known_filter(filter->name)) {
      return std::unexpected(unknown_builtin(filter->line, "filter", filter->name));
    }
    filter->parts.push_back(std::move(subject));
    if (tokens_.now().is_operator("(")) {
      KEDGE_TRY(parse_arguments(*filter));
    }
    subject = KEDGE_TRY(not_too_deep(std::move(filter)));
  }
  return subject;
}

Result<ExpressionPtr> ExpressionParser::parse_test(ExpressionPtr subject) {
  tokens_.take();
  auto negated = make(Kind::Not);
  const bool is_negated = tokens_.take_name("not");
  auto test = make(Kind::Test);
  test->name = KEDGE_TRY(tokens_.expect_name("a test's name"));
  if (!is_known_test(test->name)) {
    return std::unexpected(unknown_builtin(test->line, "test", test->name));
  }
  test->parts.push_back(std::move(subject));
  const Token& now = tokens_.now();
  const bool is_word = now.is_name("else") || now.is_name("or") || now.is_name("and") ||
                       now.is_name("is") || now.is_name("if") || now.is_name("in") ||
                       now.is_name("not");
  const bool is_value = now.kind == Token::Kind::Text || now.kind == Token::Kind::Integer ||
                        now.kind == Token::Kind::Real || now.is_operator("[") ||
                        now.is_operator("{") || (now.kind == Token::Kind::Name && !is_word);
  if (now.is_operator("(")) {
    KEDGE_TRY(parse_arguments(*test));
  } else if (is_value) {
    ExpressionPtr argument = KEDGE_TRY(parse_primary());
    test->parts.push_back(KEDGE_TRY(parse_postfix(std::move(argument))));
  }
  if (!is_negated) {
    return not_too_deep(std::move(test));
  }
  negated->parts.push_back(std::move(test));
  return not_too_deep(std::move(negated));
}

}  // namespace kedge::data::jinja
