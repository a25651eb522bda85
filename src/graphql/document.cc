#include "graphql/document.h"

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "graphql/internal/lexer.h"

namespace kedge::graphql {
namespace {

using Kind = Token::Kind;

class Parser {
 public:
  explicit Parser(std::string_view text) : lexer_(text) {}

  Result<Document> parse() {
    KEDGE_TRY(advance());
    Document document;
    while (token_.kind != Kind::End) {
      if (is_name("fragment")) {
        KEDGE_TRY(parse_fragment(document));
      } else {
        document.operations.push_back(KEDGE_TRY(parse_operation()));
      }
    }
    if (document.operations.empty()) {
      return fail(ErrorKind::Usage, "Syntax Error: the document has no operation.");
    }
    return document;
  }

 private:
  // Counts how deep the parser is in, against documents made to use up the stack.
  struct Level {
    explicit Level(std::size_t& count) : depth(count) { ++depth; }

    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

    ~Level() { --depth; }

    std::size_t& depth;
  };

  Result<void> advance() {
    token_ = KEDGE_TRY(lexer_.next());
    return {};
  }

  bool is(std::string_view punctuator) const {
    return token_.kind == Kind::Punctuator && token_.text == punctuator;
  }

  bool is_name(std::string_view name) const {
    return token_.kind == Kind::Name && token_.text == name;
  }

  Error unexpected() const {
    const std::string what =
        token_.kind == Kind::End ? "end of the document" : fmt::format("\"{}\"", token_.text);
    return lexer_.error_at(token_.at, "Unexpected " + what);
  }

  Result<void> expect(std::string_view punctuator) {
    return is(punctuator) ? advance() : Result<void>(std::unexpected(unexpected()));
  }

  Result<bool> take(std::string_view punctuator) {
    const bool is_there = is(punctuator);
    if (is_there) {
      KEDGE_TRY(advance());
    }
    return is_there;
  }

  Result<std::string> take_name() {
    if (token_.kind != Kind::Name) {
      return std::unexpected(unexpected());
    }
    std::string name = std::move(token_.text);
    KEDGE_TRY(advance());
    return name;
  }

  Result<void> check_depth() const {
    return depth_ <= kMaxDepth ? Result<void>()
                               : fail(ErrorKind::Usage, "the document is nested too deeply");
  }

  Result<Operation> parse_operation() {
    Operation operation;
    if (!is("{")) {
      const bool is_query = is_name("query");
      operation.is_mutation = is_name("mutation");
      if (!is_query && !operation.is_mutation) {
        return std::unexpected(unexpected());
      }
      KEDGE_TRY(advance());
      if (token_.kind == Kind::Name) {
        operation.name = KEDGE_TRY(take_name());
      }
      operation.variables = KEDGE_TRY(parse_variables());
      KEDGE_TRY(parse_directives());
    }
    operation.selections = KEDGE_TRY(parse_selections());
    return operation;
  }

  Result<void> parse_fragment(Document& document) {
    KEDGE_TRY(advance());
    const std::string name = KEDGE_TRY(take_name());
    if (name == "on" || !is_name("on")) {
      return std::unexpected(unexpected());
    }
    KEDGE_TRY(advance());
    Fragment fragment{KEDGE_TRY(take_name())};
    KEDGE_TRY(parse_directives());
    fragment.selections = KEDGE_TRY(parse_selections());
    if (!document.fragments.emplace(name, std::move(fragment)).second) {
      return fail(ErrorKind::Usage,
                  fmt::format("There can be only one fragment named \"{}\".", name));
    }
    return {};
  }

  Result<std::vector<VariableDefinition>> parse_variables() {
    std::vector<VariableDefinition> variables;
    if (!KEDGE_TRY(take("("))) {
      return variables;
    }
    while (!is(")")) {
      KEDGE_TRY(expect("$"));
      VariableDefinition variable{KEDGE_TRY(take_name())};
      KEDGE_TRY(expect(":"));
      variable.is_list = is("[");
      KEDGE_TRY(skip_type());
      if (KEDGE_TRY(take("="))) {
        variable.fallback = KEDGE_TRY(parse_value());
      }
      KEDGE_TRY(parse_directives());
      variables.push_back(std::move(variable));
    }
    KEDGE_TRY(advance());
    return variables;
  }

  Result<void> skip_type() {
    const Level level(depth_);
    KEDGE_TRY(check_depth());
    if (KEDGE_TRY(take("["))) {
      KEDGE_TRY(skip_type());
      KEDGE_TRY(expect("]"));
    } else {
      KEDGE_TRY(take_name());
    }
    KEDGE_TRY(take("!"));
    return {};
  }

  Result<std::vector<Selection>> parse_selections() {
    const Level level(depth_);
    KEDGE_TRY(check_depth());
    KEDGE_TRY(expect("{"));
    std::vector<Selection> selections;
    while (!is("}")) {
      selections.push_back(KEDGE_TRY(is("...") ? parse_spread() : parse_field()));
    }
    if (selections.empty()) {
      return std::unexpected(unexpected());
    }
    KEDGE_TRY(advance());
    return selections;
  }

  Result<Selection> parse_field() {
    Selection field{.name = KEDGE_TRY(take_name())};
    if (KEDGE_TRY(take(":"))) {
      field.alias = std::exchange(field.name, KEDGE_TRY(take_name()));
    }
    field.arguments = KEDGE_TRY(parse_arguments());
    field.directives = KEDGE_TRY(parse_directives());
    if (is("{")) {
      field.selections = KEDGE_TRY(parse_selections());
    }
    return field;
  }

  Result<Selection> parse_spread() {
    KEDGE_TRY(advance());
    if (token_.kind == Kind::Name && token_.text != "on") {
      Selection spread{.kind = Selection::Kind::Spread, .name = KEDGE_TRY(take_name())};
      spread.directives = KEDGE_TRY(parse_directives());
      return spread;
    }
    Selection part{.kind = Selection::Kind::Inline};
    if (is_name("on")) {
      KEDGE_TRY(advance());
      part.name = KEDGE_TRY(take_name());
    }
    part.directives = KEDGE_TRY(parse_directives());
    part.selections = KEDGE_TRY(parse_selections());
    return part;
  }

  Result<Arguments> parse_arguments() {
    Arguments arguments;
    if (!KEDGE_TRY(take("("))) {
      return arguments;
    }
    while (!is(")")) {
      std::string name = KEDGE_TRY(take_name());
      KEDGE_TRY(expect(":"));
      arguments.emplace_back(std::move(name), KEDGE_TRY(parse_value()));
    }
    KEDGE_TRY(advance());
    return arguments;
  }

  Result<std::vector<Directive>> parse_directives() {
    std::vector<Directive> directives;
    while (KEDGE_TRY(take("@"))) {
      Directive directive{KEDGE_TRY(take_name())};
      directive.arguments = KEDGE_TRY(parse_arguments());
      directives.push_back(std::move(directive));
    }
    return directives;
  }

  Result<Literal> parse_value() {
    const Level level(depth_);
    KEDGE_TRY(check_depth());
    if (KEDGE_TRY(take("$"))) {
      return Literal{.kind = Literal::Kind::Variable, .name = KEDGE_TRY(take_name())};
    }
    if (KEDGE_TRY(take("["))) {
      Literal list{.kind = Literal::Kind::List};
      while (!is("]")) {
        list.items.push_back(KEDGE_TRY(parse_value()));
      }
      KEDGE_TRY(advance());
      return list;
    }
    if (KEDGE_TRY(take("{"))) {
      Literal object{.kind = Literal::Kind::Object};
      while (!is("}")) {
        std::string name = KEDGE_TRY(take_name());
        KEDGE_TRY(expect(":"));
        object.fields.emplace_back(std::move(name), KEDGE_TRY(parse_value()));
      }
      KEDGE_TRY(advance());
      return object;
    }
    return parse_constant();
  }

  Result<Literal> parse_constant() {
    Literal literal;
    const std::string& text = token_.text;
    switch (token_.kind) {
      case Kind::Name:
        if (text == "true" || text == "false") {
          literal.constant = text == "true";
        } else if (text != "null") {
          literal.constant = text;
        }
        break;
      case Kind::String:
        literal.constant = text;
        break;
      case Kind::Int:
      case Kind::Float:
        literal.constant = parse_number(text);
        break;
      default:
        return std::unexpected(unexpected());
    }
    KEDGE_TRY(advance());
    return literal;
  }

  static nlohmann::json parse_number(const std::string& text) {
    std::int64_t whole = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), whole);
    if (parsed.ec == std::errc{} && parsed.ptr == text.data() + text.size()) {
      return whole;
    }
    double number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
  }

  Lexer lexer_;
  Token token_;
  std::size_t depth_ = 0;
};

}  // namespace

Result<Document> parse_document(std::string_view text) {
  if (text.size() > kMaxDocumentBytes) {
    return fail(ErrorKind::Usage, fmt::format("the document has {} bytes; {} are the most",
                                              text.size(), kMaxDocumentBytes));
  }
  return Parser(text).parse();
}

}  // namespace kedge::graphql
