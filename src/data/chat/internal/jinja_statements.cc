#include <set>

#include <fmt/format.h>

#include "data/chat/internal/jinja_builtins.h"
#include "data/chat/internal/jinja_syntax.h"

namespace kedge::data::jinja {
namespace {

using Kind = Statement::Kind;

class TemplateParser {
 public:
  explicit TemplateParser(std::vector<Token> tokens)
      : tokens_(std::move(tokens)), expressions_(tokens_) {}

  Result<Body> parse_all() {
    Body body = KEDGE_TRY(parse_body({}));
    return body;
  }

 private:
  // Up to a tag that begins with one of `ends`, whose name is taken: ended_by_. None: to the end.
  Result<Body> parse_body(const std::vector<std::string_view>& ends) {
    if (++depth_ > kMaxNesting / 2) {
      return fail_at(tokens_.now().line, "statements are nested deeper than 50");
    }
    Body body;
    while (tokens_.now().kind != Token::Kind::End) {
      const Token now = tokens_.take();
      if (now.kind == Token::Kind::Data) {
        body.push_back(made(Kind::Data, now.line));
        body.back().text = now.text;
      } else if (now.kind == Token::Kind::PrintBegin) {
        body.push_back(made(Kind::Print, now.line));
        body.back().values.push_back(KEDGE_TRY(expressions_.parse(/*may_be_tuple=*/true)));
        KEDGE_TRY(expect_end(Token::Kind::PrintEnd));
      } else if (std::ranges::find(ends, tokens_.now().text) != ends.end()) {
        ended_by_ = tokens_.take().text;
        --depth_;
        return body;
      } else {
        body.push_back(KEDGE_TRY(parse_statement()));
      }
    }
    if (!ends.empty()) {
      return fail_at(tokens_.now().line, fmt::format("{{% {} %}} is missing", ends.back()));
    }
    --depth_;
    return body;
  }

  static Statement made(Kind kind, int line) {
    Statement statement;
    statement.kind = kind;
    statement.line = line;
    return statement;
  }

  Result<void> expect_end(Token::Kind kind) {
    if (tokens_.now().kind != kind) {
      const std::string shown = TokenStream::shown(tokens_.now());
      return fail_at(tokens_.now().line, fmt::format("the tag should end before {}", shown));
    }
    tokens_.take();
    return {};
  }

  Result<void> expect_block_end() { return expect_end(Token::Kind::BlockEnd); }

  Result<Statement> parse_statement() {
    const int line = tokens_.now().line;
    const std::string name = KEDGE_TRY(tokens_.expect_name("a statement"));
    if (name == "if") {
      return parse_if(line);
    }
    if (name == "for") {
      return parse_for(line);
    }
    if (name == "set") {
      return parse_set(line);
    }
    if (name == "macro") {
      return parse_macro(line);
    }
    if (name == "call") {
      return parse_call(line);
    }
    if (name == "with") {
      return parse_with(line);
    }
    if (name == "filter" || name == "generation") {
      Statement statement = made(name == "filter" ? Kind::FilterBlock : Kind::Generation, line);
      if (name == "filter") {
        statement.values.push_back(KEDGE_TRY(expressions_.parse_filters(nullptr, true)));
      }
      KEDGE_TRY(parse_last_branch(statement, name == "filter" ? "endfilter" : "endgeneration"));
      return statement;
    }
    if (name == "break" || name == "continue") {
      if (loops_ == 0) {
        return fail_at(line, fmt::format("{{% {} %}} stands in no loop", name));
      }
      KEDGE_TRY(expect_block_end());
      return made(name == "break" ? Kind::Break : Kind::Continue, line);
    }
    return std::unexpected(unknown_builtin(line, "statement", name));
  }

  // `%}`, the body, and `{% end %}`.
  Result<void> parse_last_branch(Statement& statement, std::string_view end) {
    KEDGE_TRY(expect_block_end());
    statement.branches.push_back(KEDGE_TRY(parse_body({end})));
    return expect_block_end();
  }

  Result<Statement> parse_if(int line) {
    Statement statement = made(Kind::If, line);
    do {
      statement.values.push_back(KEDGE_TRY(expressions_.parse(/*may_be_tuple=*/true)));
      KEDGE_TRY(expect_block_end());
      statement.branches.push_back(KEDGE_TRY(parse_body({"elif", "else", "endif"})));
    } while (ended_by_ == "elif");
    if (ended_by_ == "else") {
      KEDGE_TRY(parse_last_branch(statement, "endif"));
    } else {
      KEDGE_TRY(expect_block_end());
    }
    return statement;
  }

  Result<std::vector<std::string>> parse_targets() {
    std::vector<std::string> targets;
    const bool has_parenthesis = tokens_.take_operator("(");
    do {
      targets.push_back(KEDGE_TRY(tokens_.expect_name("a variable's name")));
    } while (tokens_.take_operator(",") && tokens_.now().kind == Token::Kind::Name);
    if (has_parenthesis) {
      KEDGE_TRY(tokens_.expect_operator(")"));
    }
    return targets;
  }

  Result<Statement> parse_for(int line) {
    Statement statement = made(Kind::For, line);
    statement.targets = KEDGE_TRY(parse_targets());
    if (!tokens_.take_name("in")) {
      return fail_at(tokens_.now().line, "'in' is missing in {% for %}");
    }
    statement.values.push_back(
        KEDGE_TRY(expressions_.parse(/*may_be_tuple=*/true, /*may_be_choice=*/false)));
    statement.values.push_back(tokens_.take_name("if") ? KEDGE_TRY(expressions_.parse()) : nullptr);
    if (tokens_.now().is_name("recursive")) {
      return fail_at(line, "{% for ... recursive %} is not supported");
    }
    KEDGE_TRY(expect_block_end());
    ++loops_;
    statement.branches.push_back(KEDGE_TRY(parse_body({"else", "endfor"})));
    --loops_;
    if (ended_by_ == "else") {
      KEDGE_TRY(parse_last_branch(statement, "endfor"));
    } else {
      KEDGE_TRY(expect_block_end());
    }
    return statement;
  }

  Result<Statement> parse_set(int line) {
    Statement statement = made(Kind::Set, line);
    if (tokens_.next().is_operator(".")) {
      statement.text = KEDGE_TRY(tokens_.expect_name("a namespace"));
      tokens_.take();
      statement.targets.push_back(KEDGE_TRY(tokens_.expect_name("a name after '.'")));
    } else {
      statement.targets = KEDGE_TRY(parse_targets());
    }
    if (tokens_.take_operator("=")) {
      statement.values.push_back(KEDGE_TRY(expressions_.parse(/*may_be_tuple=*/true)));
      KEDGE_TRY(expect_block_end());
      return statement;
    }
    statement.kind = Kind::SetBlock;
    statement.values.push_back(KEDGE_TRY(expressions_.parse_filters(nullptr, false)));
    KEDGE_TRY(parse_last_branch(statement, "endset"));
    return statement;
  }

  Result<std::vector<Parameter>> parse_parameters() {
    std::vector<Parameter> parameters;
    KEDGE_TRY(tokens_.expect_operator("("));
    while (!tokens_.take_operator(")")) {
      if (!parameters.empty()) {
        KEDGE_TRY(tokens_.expect_operator(","));
        if (tokens_.take_operator(")")) {
          break;
        }
      }
      Parameter parameter{KEDGE_TRY(tokens_.expect_name("a parameter's name")), nullptr};
      if (tokens_.take_operator("=")) {
        parameter.fallback = KEDGE_TRY(expressions_.parse());
      }
      parameters.push_back(std::move(parameter));
    }
    return parameters;
  }

  Result<Statement> parse_macro(int line) {
    Statement statement = made(Kind::Macro, line);
    statement.text = KEDGE_TRY(tokens_.expect_name("a macro's name"));
    statement.parameters = KEDGE_TRY(parse_parameters());
    const int loops = std::exchange(loops_, 0);
    KEDGE_TRY(parse_last_branch(statement, "endmacro"));
    loops_ = loops;
    return statement;
  }

  Result<Statement> parse_call(int line) {
    Statement statement = made(Kind::Call, line);
    if (tokens_.now().is_operator("(")) {
      statement.parameters = KEDGE_TRY(parse_parameters());
    }
    statement.values.push_back(KEDGE_TRY(expressions_.parse()));
    if (statement.values[0]->kind != Expression::Kind::Call) {
      return fail_at(line, "{% call %} calls nothing");
    }
    const int loops = std::exchange(loops_, 0);
    KEDGE_TRY(parse_last_branch(statement, "endcall"));
    loops_ = loops;
    return statement;
  }

  Result<Statement> parse_with(int line) {
    Statement statement = made(Kind::With, line);
    while (tokens_.now().kind == Token::Kind::Name) {
      statement.targets.push_back(tokens_.take().text);
      KEDGE_TRY(tokens_.expect_operator("="));
      statement.values.push_back(KEDGE_TRY(expressions_.parse()));
      if (!tokens_.take_operator(",")) {
        break;
      }
    }
    KEDGE_TRY(parse_last_branch(statement, "endwith"));
    return statement;
  }

  TokenStream tokens_;
  ExpressionParser expressions_;
  std::string ended_by_;
  int depth_ = 0;
  int loops_ = 0;  // around the statement, in the same macro
};

// Names that something in the template gives a value to, and functions that it calls.
struct Names {
  std::set<std::string> made;
  std::vector<std::pair<std::string, int>> called;

  void add(const Expression* expression) {
    if (expression == nullptr) {
      return;
    }
    if (expression->kind == Expression::Kind::Call &&
        expression->parts[0]->kind == Expression::Kind::Name) {
      called.emplace_back(expression->parts[0]->name, expression->line);
    }
    for (const auto& part : expression->parts) {
      add(part.get());
    }
    for (const auto& [name, part] : expression->keywords) {
      add(part.get());
    }
  }

  void add(const Body& body) {
    for (const Statement& statement : body) {
      made.insert(statement.targets.begin(), statement.targets.end());
      if (statement.kind == Kind::Macro) {
        made.insert(statement.text);
      }
      for (const auto& parameter : statement.parameters) {
        made.insert(parameter.name);
        add(parameter.fallback.get());
      }
      for (const auto& value : statement.values) {
        add(value.get());
      }
      for (const auto& branch : statement.branches) {
        add(branch);
      }
    }
  }
};

}  // namespace

Result<Body> parse_template(std::string_view source) {
  Body body = KEDGE_TRY(TemplateParser(KEDGE_TRY(cut_into_tokens(source))).parse_all());
  Names names;
  names.add(body);
  for (const auto& [name, line] : names.called) {
    if (!is_known_function(name) && !names.made.contains(name) && name != "caller") {
      return std::unexpected(unknown_builtin(line, "function", name));
    }
  }
  return body;
}

}  // namespace kedge::data::jinja
