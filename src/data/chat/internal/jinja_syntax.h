// A chat template as a tree.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"
#include "data/chat/internal/jinja_lexer.h"
#include "data/chat/internal/jinja_value.h"

namespace kedge::data::jinja {

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

struct Expression {
  enum class Kind : std::uint8_t {
    Constant,   // value
    Name,       // name
    List,       // parts
    Tuple,      // parts
    Dict,       // parts: key, value, key, value ...
    Attribute,  // parts[0].name
    Item,       // parts[0][parts[1]]
    Slice,      // parts[0][parts[1]:parts[2]:parts[3]], each but the first may be null
    Call,       // parts[0](parts[1], ..., keywords)
    Filter,     // parts[0] | name(parts[1], ..., keywords)
    Test,       // parts[0] is name(parts[1], ...)
    Not,        // not parts[0]
    Negative,   // -parts[0]
    Positive,   // +parts[0]
    And,        // parts[0] and parts[1]
    Or,
    Choice,      // parts[0] if parts[1] else parts[2], which may be null
    Compare,     // parts[0] names[0] parts[1] names[1] parts[2] ...
    Concat,      // parts[0] ~ parts[1] ~ ...
    Arithmetic,  // parts[0] name parts[1]
  };
  Kind kind = Kind::Constant;
  int line = 1;
  int depth = 0;  // of the tree below
  std::string name = {};
  Value value = {None{}};
  std::vector<ExpressionPtr> parts = {};
  std::vector<std::pair<std::string, ExpressionPtr>> keywords = {};
  std::vector<std::string> names = {};
};

struct Statement;
using Body = std::vector<Statement>;

// A parameter of a macro; `fallback` may be null.
struct Parameter {
  std::string name;
  ExpressionPtr fallback;
};

struct Statement {
  enum class Kind : std::uint8_t {
    Data,         // text
    Print,        // values[0]
    If,           // values[i]: body of branches[i]; one more branch is what else holds
    For,          // targets in values[0] if values[1] (may be null): branches[0], else branches[1]
    Set,          // targets = values[0]; text.targets[0] where `text` names a namespace
    SetBlock,     // targets[0] = branches[0], through the filters of values[0] (may be null)
    Macro,        // text(parameters): branches[0]
    Call,         // values[0], a call, with a caller(parameters) that is branches[0]
    FilterBlock,  // values[0] filters branches[0]
    With,         // targets[i] = values[i]: branches[0]
    Generation,   // branches[0]
    Break,
    Continue,
  };
  Kind kind = Kind::Data;
  int line = 1;
  std::string text = {};
  std::vector<std::string> targets = {};
  std::vector<ExpressionPtr> values = {};
  std::vector<Body> branches = {};
  std::vector<Parameter> parameters = {};
};

// Where in the tokens a parser is. The last token is Kind::End, and is never passed.
class TokenStream {
 public:
  explicit TokenStream(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  const Token& now() const { return tokens_[at_]; }

  const Token& next() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }

  Token take() { return at_ + 1 < tokens_.size() ? tokens_[at_++] : tokens_[at_]; }

  bool take_operator(std::string_view text) { return take_if(now().is_operator(text)); }

  bool take_name(std::string_view text) { return take_if(now().is_name(text)); }

  Result<void> expect_operator(std::string_view text);
  Result<std::string> expect_name(std::string_view what);

  // How a token looks in a message.
  static std::string shown(const Token& token);

 private:
  bool take_if(bool is_wanted) {
    at_ += is_wanted ? 1 : 0;
    return is_wanted;
  }

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
};

// Expressions, from where the stream is. Filters, tests, methods and functions that nobody knows
// are errors here, with their line.
class ExpressionParser {
 public:
  explicit ExpressionParser(TokenStream& tokens) : tokens_(tokens) {}

  // `a, b` is a tuple where `may_be_tuple`; `a if b` is a choice where `may_be_choice`.
  Result<ExpressionPtr> parse(bool may_be_tuple = false, bool may_be_choice = true);
  // The filters of `{% filter a | b %}`, on a subject that is null.
  Result<ExpressionPtr> parse_filters(ExpressionPtr subject, bool is_first_bare);
  Result<void> parse_arguments(Expression& call);

 private:
  Result<ExpressionPtr> parse_one(bool may_be_choice);
  Result<ExpressionPtr> parse_or();
  Result<ExpressionPtr> parse_and();
  Result<ExpressionPtr> parse_not();
  Result<ExpressionPtr> parse_compare();
  Result<ExpressionPtr> parse_sum();
  Result<ExpressionPtr> parse_concat();
  Result<ExpressionPtr> parse_product();
  Result<ExpressionPtr> parse_power();
  Result<ExpressionPtr> parse_unary(bool with_filters);
  Result<ExpressionPtr> parse_primary();
  Result<ExpressionPtr> parse_name();
  Result<ExpressionPtr> parse_parenthesis();
  Result<ExpressionPtr> parse_list();
  Result<ExpressionPtr> parse_dict();
  Result<ExpressionPtr> parse_postfix(ExpressionPtr subject);
  Result<ExpressionPtr> parse_attribute(ExpressionPtr subject);
  Result<ExpressionPtr> parse_subscript(ExpressionPtr subject);
  Result<ExpressionPtr> parse_call(ExpressionPtr callee);
  Result<ExpressionPtr> parse_filter_chain(ExpressionPtr subject);
  Result<ExpressionPtr> parse_test(ExpressionPtr subject);
  ExpressionPtr make(Expression::Kind kind, std::string name = {}) const;

  TokenStream& tokens_;
  int depth_ = 0;
};

// An error says the line.
Result<Body> parse_template(std::string_view source);

}  // namespace kedge::data::jinja
