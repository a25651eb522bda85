#include "data/chat/internal/jinja_render.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

namespace kedge::data::jinja {

struct Scope;

// A macro, a function, or a method with what it belongs to.
struct Callable {
  std::string name;
  std::optional<Value> self = {};  // of a method
  const Statement* macro = nullptr;
  std::weak_ptr<Scope> defined_in = {};  // of a macro; weak, because the scope holds the macro
};

struct Scope {
  Dict variables;
  std::shared_ptr<Scope> around;
};

namespace {

using Kind = Expression::Kind;
using ScopePtr = std::shared_ptr<Scope>;

// How a sequence of statements ended.
enum class Flow : std::uint8_t { Next, Break, Continue };

// A template that needs more steps is taken for one that never ends. A long conversation with many
// tools needs some ten thousands.
constexpr std::int64_t kMaxSteps = 5'000'000;
// Expressions and statements within each other, macros that call each other included.
constexpr int kMaxDepth = 500;

Result<void> check_size(std::size_t bytes, int line) {
  if (bytes > kMaxTextBytes) {
    return fail_at(line, "the template prints more than 64 MiB");
  }
  return {};
}

template <typename T>
Result<T> at_line(int line, Result<T> result) {
  if (!result) {
    return fail_at(line, result.error().message, result.error().hint);
  }
  return result;
}

class Renderer {
 public:
  explicit Renderer(const RenderOptions& options) : options_(options) {
    counts_.resize(options.watched.size());
    rendering_.watched.resize(options.watched.size());
  }

  // A namespace may hold itself.
  ~Renderer() {
    for (const NamespacePtr& space : namespaces_) {
      space->values.entries.clear();
    }
  }

  Renderer(const Renderer&) = delete;
  Renderer& operator=(const Renderer&) = delete;

  Result<Rendering> run(const Body& body) {
    auto scope = std::make_shared<Scope>();
    scope->variables.entries = options_.variables;
    KEDGE_TRY(execute(body, scope));
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      if (counts_[i] != 1) {
        rendering_.watched[i].reset();
      }
    }
    rendering_.text = std::move(out_);
    return std::move(rendering_);
  }

 private:
  // Counts what is nested, and what is done.
  class Level {
   public:
    explicit Level(Renderer& renderer) : renderer_(renderer) {
      ++renderer_.depth_;
      ++renderer_.steps_;
    }

    ~Level() { --renderer_.depth_; }

    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

    Result<void> check(int line) const {
      if (renderer_.depth_ > kMaxDepth) {
        return fail_at(line, "macros and expressions are nested deeper than 500");
      }
      if (renderer_.steps_ > kMaxSteps) {
        return fail_at(line, "the template does not end: 5 million steps are done");
      }
      return {};
    }

   private:
    Renderer& renderer_;
  };

  Result<Flow> execute(const Body& body, const ScopePtr& scope) {
    for (const Statement& statement : body) {
      const Level level(*this);
      KEDGE_TRY(level.check(statement.line));
      const Flow flow = KEDGE_TRY(execute(statement, scope));
      if (flow != Flow::Next) {
        return flow;
      }
    }
    return Flow::Next;
  }

  Result<Flow> execute(const Statement& statement, const ScopePtr& scope) {
    switch (statement.kind) {
      case Statement::Kind::Data:
        return print(statement.text, statement.line);
      case Statement::Kind::Print:
        return print(KEDGE_TRY(at_line(statement.line,
                                       str(KEDGE_TRY(evaluate(*statement.values[0], scope))))),
                     statement.line);
      case Statement::Kind::If:
        return execute_if(statement, scope);
      case Statement::Kind::For:
        return execute_for(statement, scope);
      case Statement::Kind::Set:
        return execute_set(statement, scope);
      case Statement::Kind::SetBlock:
      case Statement::Kind::FilterBlock:
        return execute_captured(statement, scope);
      case Statement::Kind::Macro:
        scope->variables.set(statement.text, of_macro(statement, scope));
        return Flow::Next;
      case Statement::Kind::Call:
        return execute_call(statement, scope);
      case Statement::Kind::With:
        return execute_with(statement, scope);
      case Statement::Kind::Generation:
        return execute_generation(statement, scope);
      case Statement::Kind::Break:
        return Flow::Break;
      case Statement::Kind::Continue:
        return Flow::Continue;
    }
    return Flow::Next;
  }

  Result<Flow> print(const std::string& text, int line) {
    KEDGE_TRY(check_size(out_.size() + text.size(), line));
    out_ += text;
    steps_ += static_cast<std::int64_t>(text.size() / 64);
    return Flow::Next;
  }

  // What the body prints, as a text.
  Result<std::string> capture(const Body& body, const ScopePtr& scope) {
    std::string kept = std::exchange(out_, {});
    ++captures_;
    auto flow = execute(body, scope);
    --captures_;
    std::swap(kept, out_);
    KEDGE_TRY(std::move(flow));
    return kept;
  }

  static ScopePtr within(const ScopePtr& scope) {
    return std::make_shared<Scope>(Scope{{}, scope});
  }

  static Value of_macro(const Statement& statement, const ScopePtr& scope) {
    const std::string name =
        statement.kind == Statement::Kind::Macro ? statement.text : std::string("caller");
    return {std::make_shared<const Callable>(
        Callable{.name = name, .self = {}, .macro = &statement, .defined_in = scope})};
  }

  Result<Flow> execute_if(const Statement& statement, const ScopePtr& scope) {
    for (std::size_t i = 0; i < statement.values.size(); ++i) {
      if (is_true(KEDGE_TRY(evaluate(*statement.values[i], scope)))) {
        return execute(statement.branches[i], scope);
      }
    }
    return statement.branches.size() > statement.values.size()
               ? execute(statement.branches.back(), scope)
               : Result<Flow>(Flow::Next);
  }

  Result<void> assign(const std::vector<std::string>& targets, const Value& value,
                      const ScopePtr& scope, int line) {
    if (targets.size() == 1) {
      scope->variables.set(targets[0], value);
      return {};
    }
    const std::vector<Value> items = KEDGE_TRY(at_line(line, items_of(value)));
    if (items.size() != targets.size()) {
      return fail_at(line, fmt::format("{} values for {} names", items.size(), targets.size()));
    }
    for (std::size_t i = 0; i < targets.size(); ++i) {
      scope->variables.set(targets[i], items[i]);
    }
    return {};
  }

  Result<Flow> execute_for(const Statement& statement, const ScopePtr& scope) {
    const Value subject = KEDGE_TRY(evaluate(*statement.values[0], scope));
    auto items =
        std::make_shared<std::vector<Value>>(KEDGE_TRY(at_line(statement.line, items_of(subject))));
    if (statement.values[1] != nullptr) {
      std::vector<Value> kept;
      for (const Value& item : *items) {
        const ScopePtr inner = within(scope);
        KEDGE_TRY(assign(statement.targets, item, inner, statement.line));
        if (is_true(KEDGE_TRY(evaluate(*statement.values[1], inner)))) {
          kept.push_back(item);
        }
      }
      *items = std::move(kept);
    }
    if (items->empty() && statement.branches.size() > 1) {
      return execute(statement.branches[1], scope);
    }
    for (std::size_t i = 0; i < items->size(); ++i) {
      const Level level(*this);
      KEDGE_TRY(level.check(statement.line));
      const ScopePtr inner = within(scope);
      inner->variables.set("loop", {std::make_shared<const Loop>(Loop{items, i})});
      KEDGE_TRY(assign(statement.targets, (*items)[i], inner, statement.line));
      const std::size_t begin = out_.size();
      const Flow flow = KEDGE_TRY(execute(statement.branches[0], inner));
      note_watched((*items)[i], begin);
      if (flow == Flow::Break) {
        break;
      }
    }
    return Flow::Next;
  }

  void note_watched(const Value& item, std::size_t begin) {
    const auto* dict = item.as<DictPtr>();
    if (dict == nullptr || captures_ > 0 || out_.size() == begin) {
      return;
    }
    const auto found = std::ranges::find(options_.watched, *dict);
    if (found != options_.watched.end()) {
      const auto place = static_cast<std::size_t>(found - options_.watched.begin());
      rendering_.watched[place] = Stretch{begin, out_.size()};
      ++counts_[place];
    }
  }

  Result<Flow> execute_set(const Statement& statement, const ScopePtr& scope) {
    const Value value = KEDGE_TRY(evaluate(*statement.values[0], scope));
    if (statement.text.empty()) {
      KEDGE_TRY(assign(statement.targets, value, scope, statement.line));
      return Flow::Next;
    }
    const Value space = look_up(statement.text, scope);
    const auto* held = space.as<NamespacePtr>();
    if (held == nullptr) {
      return fail_at(statement.line, fmt::format("'{}' is no namespace", statement.text));
    }
    (*held)->values.set(statement.targets[0], value);
    return Flow::Next;
  }

  Result<Flow> execute_captured(const Statement& statement, const ScopePtr& scope) {
    Value value = of_text(KEDGE_TRY(capture(statement.branches[0], within(scope))));
    if (statement.values[0] != nullptr) {
      value = KEDGE_TRY(filter_chain(*statement.values[0], std::move(value), scope));
    }
    if (statement.kind == Statement::Kind::SetBlock) {
      KEDGE_TRY(assign(statement.targets, value, scope, statement.line));
      return Flow::Next;
    }
    return print(KEDGE_TRY(at_line(statement.line, str(value))), statement.line);
  }

  // Filters whose first has no subject of its own: it is `value`.
  Result<Value> filter_chain(const Expression& filter, Value value, const ScopePtr& scope) {
    if (filter.parts[0] != nullptr) {
      value = KEDGE_TRY(filter_chain(*filter.parts[0], std::move(value), scope));
    }
    return at_line(filter.line,
                   apply_filter(filter.name, value, KEDGE_TRY(arguments_of(filter, scope))));
  }

  Result<Flow> execute_call(const Statement& statement, const ScopePtr& scope) {
    const Expression& call = *statement.values[0];
    const Value callee = KEDGE_TRY(evaluate(*call.parts[0], scope));
    Arguments arguments = KEDGE_TRY(arguments_of(call, scope));
    const Value caller = of_macro(statement, scope);
    const Value value = KEDGE_TRY(this->call(call, callee, arguments, &caller));
    return print(KEDGE_TRY(at_line(statement.line, str(value))), statement.line);
  }

  Result<Flow> execute_with(const Statement& statement, const ScopePtr& scope) {
    const ScopePtr inner = within(scope);
    for (std::size_t i = 0; i < statement.targets.size(); ++i) {
      inner->variables.set(statement.targets[i], KEDGE_TRY(evaluate(*statement.values[i], scope)));
    }
    return execute(statement.branches[0], inner);
  }

  Result<Flow> execute_generation(const Statement& statement, const ScopePtr& scope) {
    if (captures_ > 0) {
      return fail_at(statement.line,
                     "{% generation %} stands in a macro or a set block: where its text goes is "
                     "not known there");
    }
    const std::size_t begin = out_.size();
    const Flow flow = KEDGE_TRY(execute(statement.branches[0], within(scope)));
    rendering_.generations.push_back({begin, out_.size()});
    return flow;
  }

  static Value look_up(const std::string& name, const ScopePtr& scope) {
    for (const Scope* at = scope.get(); at != nullptr; at = at->around.get()) {
      if (const Value* found = at->variables.find(name)) {
        return *found;
      }
    }
    return {Undefined{name}};
  }

  Result<Value> name_of(const Expression& expression, const ScopePtr& scope) {
    Value value = look_up(expression.name, scope);
    const bool is_there =
        is_known_function(expression.name) &&
        (expression.name != "strftime_now" || options_.surroundings.now_s.has_value());
    if (value.is_undefined() && is_there) {
      return Value{std::make_shared<const Callable>(Callable{.name = expression.name})};
    }
    return value;
  }

  Result<Value> evaluate(const Expression& expression, const ScopePtr& scope) {
    const Level level(*this);
    KEDGE_TRY(level.check(expression.line));
    switch (expression.kind) {
      case Kind::Constant:
        return expression.value;
      case Kind::Name:
        return name_of(expression, scope);
      case Kind::List:
      case Kind::Tuple:
      case Kind::Dict:
        return evaluate_display(expression, scope);
      case Kind::Attribute:
        return evaluate_attribute(expression, scope);
      case Kind::Item: {
        const Value subject = KEDGE_TRY(evaluate(*expression.parts[0], scope));
        return at_line(expression.line,
                       item_of(subject, KEDGE_TRY(evaluate(*expression.parts[1], scope))));
      }
      case Kind::Slice:
        return evaluate_slice(expression, scope);
      case Kind::Call: {
        const Value callee = KEDGE_TRY(evaluate(*expression.parts[0], scope));
        return call(expression, callee, KEDGE_TRY(arguments_of(expression, scope)), nullptr);
      }
      case Kind::Filter:
      case Kind::Test:
        return evaluate_filter(expression, scope);
      default:
        return evaluate_operator(expression, scope);
    }
  }

  Result<Value> evaluate_display(const Expression& expression, const ScopePtr& scope) {
    std::vector<Value> items;
    for (const auto& part : expression.parts) {
      items.push_back(KEDGE_TRY(evaluate(*part, scope)));
    }
    if (expression.kind != Kind::Dict) {
      return of_list(std::move(items), expression.kind == Kind::Tuple);
    }
    Dict dict;
    for (std::size_t i = 0; i < items.size(); i += 2) {
      if (items[i].text() == nullptr) {
        return fail_at(expression.line,
                       fmt::format("a key is a {}, not a text", type_name(items[i])));
      }
      dict.set(*items[i].text(), items[i + 1]);
    }
    return Value{DictPtr(std::make_shared<const Dict>(std::move(dict)))};
  }

  Result<Value> evaluate_attribute(const Expression& expression, const ScopePtr& scope) {
    Value subject = KEDGE_TRY(evaluate(*expression.parts[0], scope));
    if (has_method(subject, expression.name)) {
      return Value{std::make_shared<const Callable>(
          Callable{.name = expression.name, .self = std::move(subject)})};
    }
    return at_line(expression.line, attribute_of(subject, expression.name));
  }

  Result<Value> evaluate_slice(const Expression& expression, const ScopePtr& scope) {
    const Value subject = KEDGE_TRY(evaluate(*expression.parts[0], scope));
    std::vector<Value> values(3);
    std::vector<const Value*> bounds(3, nullptr);
    for (std::size_t i = 0; i < 3; ++i) {
      if (expression.parts[i + 1] != nullptr) {
        values[i] = KEDGE_TRY(evaluate(*expression.parts[i + 1], scope));
        bounds[i] = &values[i];
      }
    }
    return at_line(expression.line, slice_of(subject, bounds));
  }

  Result<Value> evaluate_filter(const Expression& expression, const ScopePtr& scope) {
    const Value subject = KEDGE_TRY(evaluate(*expression.parts[0], scope));
    const Arguments arguments = KEDGE_TRY(arguments_of(expression, scope));
    if (expression.kind == Kind::Filter) {
      return at_line(expression.line, apply_filter(expression.name, subject, arguments));
    }
    return of_bool(
        KEDGE_TRY(at_line(expression.line, apply_test(expression.name, subject, arguments))));
  }

  Result<Value> evaluate_operator(const Expression& expression, const ScopePtr& scope) {
    if (expression.kind == Kind::Choice) {
      const bool holds = is_true(KEDGE_TRY(evaluate(*expression.parts[1], scope)));
      const auto& chosen = expression.parts[holds ? 0 : 2];
      return chosen == nullptr ? Result<Value>(Value{}) : evaluate(*chosen, scope);
    }
    const Value first = KEDGE_TRY(evaluate(*expression.parts[0], scope));
    switch (expression.kind) {
      case Kind::Not:
        return of_bool(!is_true(first));
      case Kind::And:
        return is_true(first) ? evaluate(*expression.parts[1], scope) : Result<Value>(first);
      case Kind::Or:
        return is_true(first) ? Result<Value>(first) : evaluate(*expression.parts[1], scope);
      case Kind::Negative:
        return at_line(expression.line, calculate("*", first, of_int(-1)));
      case Kind::Positive:
        return at_line(expression.line, calculate("*", first, of_int(1)));
      case Kind::Compare:
        return evaluate_compare(expression, first, scope);
      case Kind::Concat:
        return evaluate_concat(expression, first, scope);
      default:
        break;
    }
    const Value second = KEDGE_TRY(evaluate(*expression.parts[1], scope));
    const Value made =
        KEDGE_TRY(at_line(expression.line, calculate(expression.name, first, second)));
    count_bytes(made);
    return made;
  }

  void count_bytes(const Value& value) {
    const std::string* text = value.text();
    steps_ += text == nullptr ? 0 : static_cast<std::int64_t>(text->size() / 64);
  }

  Result<Value> evaluate_compare(const Expression& expression, Value first, const ScopePtr& scope) {
    for (std::size_t i = 0; i < expression.names.size(); ++i) {
      const Value second = KEDGE_TRY(evaluate(*expression.parts[i + 1], scope));
      if (!KEDGE_TRY(at_line(expression.line, compare(expression.names[i], first, second)))) {
        return of_bool(false);
      }
      first = second;
    }
    return of_bool(true);
  }

  Result<Value> evaluate_concat(const Expression& expression, const Value& first,
                                const ScopePtr& scope) {
    std::string text = KEDGE_TRY(at_line(expression.line, str(first)));
    for (std::size_t i = 1; i < expression.parts.size(); ++i) {
      text += KEDGE_TRY(
          at_line(expression.line, str(KEDGE_TRY(evaluate(*expression.parts[i], scope)))));
      KEDGE_TRY(check_size(text.size(), expression.line));
    }
    Value made = of_text(std::move(text));
    count_bytes(made);
    return made;
  }

  Result<Arguments> arguments_of(const Expression& call, const ScopePtr& scope) {
    Arguments arguments;
    for (std::size_t i = 1; i < call.parts.size(); ++i) {
      arguments.plain.push_back(KEDGE_TRY(evaluate(*call.parts[i], scope)));
    }
    for (const auto& [name, part] : call.keywords) {
      arguments.named.emplace_back(name, KEDGE_TRY(evaluate(*part, scope)));
    }
    return arguments;
  }

  Result<Value> call(const Expression& expression, const Value& callee, const Arguments& arguments,
                     const Value* caller) {
    const auto* callable = callee.as<CallablePtr>();
    if (callable == nullptr) {
      const auto* undefined = callee.as<Undefined>();
      return fail_at(
          expression.line,
          fmt::format("'{}' is {}, and cannot be called",
                      undefined == nullptr ? "the value" : undefined->name, type_name(callee)));
    }
    if ((*callable)->macro != nullptr) {
      return call_macro(expression, **callable, arguments, caller);
    }
    if (caller != nullptr) {
      return fail_at(expression.line, "{% call %} wants a macro");
    }
    if ((*callable)->self) {
      return at_line(expression.line,
                     call_method(*(*callable)->self, (*callable)->name, arguments));
    }
    Value made = KEDGE_TRY(at_line(
        expression.line, call_function((*callable)->name, arguments, options_.surroundings)));
    if (const auto* space = made.as<NamespacePtr>()) {
      namespaces_.push_back(*space);
    }
    return made;
  }

  Result<Value> call_macro(const Expression& expression, const Callable& macro,
                           const Arguments& arguments, const Value* caller) {
    const Level level(*this);
    KEDGE_TRY(level.check(expression.line));
    const ScopePtr around = macro.defined_in.lock();
    if (around == nullptr) {
      return fail_at(expression.line,
                     fmt::format("the macro '{}' is gone: its loop has ended", macro.name));
    }
    const ScopePtr inner = within(around);
    std::vector<std::string_view> names;
    for (const Parameter& parameter : macro.macro->parameters) {
      names.push_back(parameter.name);
    }
    KEDGE_TRY(at_line(expression.line, arguments.check(macro.name, names)));
    for (std::size_t i = 0; i < names.size(); ++i) {
      const Parameter& parameter = macro.macro->parameters[i];
      const Value* given = arguments.find(i, parameter.name);
      Value value{Undefined{parameter.name}};
      if (given != nullptr) {
        value = *given;
      } else if (parameter.fallback != nullptr) {
        value = KEDGE_TRY(evaluate(*parameter.fallback, inner));
      }
      inner->variables.set(parameter.name, std::move(value));
    }
    if (caller != nullptr) {
      inner->variables.set("caller", *caller);
    }
    return of_text(KEDGE_TRY(capture(macro.macro->branches[0], inner)));
  }

  const RenderOptions& options_;
  Rendering rendering_;
  std::vector<int> counts_;  // how often each watched value was printed
  std::string out_;
  int captures_ = 0;  // texts that are not printed yet, around what is printed
  int depth_ = 0;
  std::int64_t steps_ = 0;
  std::vector<NamespacePtr> namespaces_;
};

}  // namespace

Result<Rendering> render(const Body& body, const RenderOptions& options) {
  return Renderer(options).run(body);
}

}  // namespace kedge::data::jinja
