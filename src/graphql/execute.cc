#include "graphql/execute.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace kedge::graphql {
namespace {

using nlohmann::json;

const std::string& root_name(const Operation& operation) {
  static const std::string kQuery = "Query";
  static const std::string kMutation = "Mutation";
  return operation.is_mutation ? kMutation : kQuery;
}

bool is_also(const Type& type, const std::string& name) {
  return std::ranges::find(type.also, name) != type.also.end();
}

// Looks at every field of the document before any is answered.
class Validator {
 public:
  Validator(const Schema& schema, const Document& document)
      : schema_(schema), document_(document) {}

  Result<void> check(const Type& type, const std::vector<Selection>& selections,
                     bool is_root = false) {
    // Fragments in fragments are deeper than any the parser has seen.
    if (++depth_ > kMaxDepth) {
      return fail(ErrorKind::Usage, "the document is nested too deeply");
    }
    for (const Selection& selection : selections) {
      if (++field_count_ > kMaxFields) {
        return fail(ErrorKind::Usage, "the document selects too many fields");
      }
      switch (selection.kind) {
        case Selection::Kind::Field:
          KEDGE_TRY(check_field(type, selection, is_root));
          break;
        case Selection::Kind::Inline:
          KEDGE_TRY(check_part(type, selection.name, selection.selections, is_root));
          break;
        case Selection::Kind::Spread:
          KEDGE_TRY(check_spread(type, selection, is_root));
          break;
      }
    }
    --depth_;
    return {};
  }

 private:
  Result<void> check_field(const Type& type, const Selection& selection, bool is_root) {
    if (selection.name == "__typename") {
      return {};
    }
    const Type& owner =
        is_root && selection.name.starts_with("__") ? *schema_.find("__Root") : type;
    const auto found = owner.fields.find(selection.name);
    if (found == owner.fields.end()) {
      return fail(ErrorKind::Usage, fmt::format("Cannot query field \"{}\" on type \"{}\".",
                                                selection.name, type.name));
    }
    const std::string& leads_to = found->second.type;
    if (leads_to.empty() != selection.selections.empty()) {
      return fail(ErrorKind::Usage,
                  fmt::format("Field \"{}\" of type \"{}\" must {}have a selection of subfields.",
                              selection.name, type.name, leads_to.empty() ? "not " : ""));
    }
    if (leads_to.empty()) {
      return {};
    }
    const Type* next = schema_.find(leads_to);
    KEDGE_CHECK(next != nullptr, "a field leads to a type that is declared");
    return check(*next, selection.selections);
  }

  Result<void> check_part(const Type& around, const std::string& name,
                          const std::vector<Selection>& selections, bool is_root) {
    const bool is_same = name.empty() || is_also(around, name);
    const Type* type = is_same ? &around : schema_.find(name);
    if (type == nullptr) {
      return fail(ErrorKind::Usage, fmt::format("Unknown type \"{}\".", name));
    }
    return check(*type, selections, is_root);
  }

  Result<void> check_spread(const Type& around, const Selection& spread, bool is_root) {
    const auto found = document_.fragments.find(spread.name);
    if (found == document_.fragments.end()) {
      return fail(ErrorKind::Usage, fmt::format("Unknown fragment \"{}\".", spread.name));
    }
    if (!open_.insert(spread.name).second) {
      return fail(ErrorKind::Usage,
                  fmt::format("Cannot spread fragment \"{}\" within itself.", spread.name));
    }
    KEDGE_TRY(check_part(around, found->second.type, found->second.selections, is_root));
    open_.erase(spread.name);
    return {};
  }

  const Schema& schema_;
  const Document& document_;
  std::set<std::string> open_;  // fragments being looked at
  std::size_t field_count_ = 0;
  std::size_t depth_ = 0;
};

// The fields that ask for one key of the answer.
struct Wanted {
  const Selection* first = nullptr;
  std::vector<const std::vector<Selection>*> selections = {};
};

class Executor {
 public:
  Executor(const Execution& execution, json variables)
      : schema_(execution.schema),
        document_(execution.document),
        variables_(std::move(variables)) {}

  Result<json> answer(const Type& type, const Node& node,
                      const std::vector<const std::vector<Selection>*>& selections,
                      bool is_root = false) {
    std::vector<std::pair<std::string, Wanted>> wanted;
    const std::string name = type.name_of ? type.name_of(node.self.get()) : type.name;
    for (const auto* part : selections) {
      KEDGE_TRY(collect(type, name, *part, wanted));
    }
    json object = json::object();
    for (const auto& [key, field] : wanted) {
      if (++value_count_ > kMaxValues) {
        return fail(ErrorKind::Usage, "the answer would be too large; ask for less at a time");
      }
      object[key] = field.first->name == "__typename"
                        ? json(name)
                        : KEDGE_TRY(answer_field(type, node, field, is_root));
    }
    return object;
  }

 private:
  Result<void> collect(const Type& type, const std::string& name,
                       const std::vector<Selection>& selections,
                       std::vector<std::pair<std::string, Wanted>>& wanted) {
    for (const Selection& selection : selections) {
      if (!KEDGE_TRY(is_included(selection))) {
        continue;
      }
      if (selection.kind == Selection::Kind::Field) {
        add_wanted(selection, wanted);
        continue;
      }
      const bool is_spread = selection.kind == Selection::Kind::Spread;
      const Fragment* fragment =
          is_spread ? &document_.fragments.find(selection.name)->second : nullptr;
      const std::string& condition = is_spread ? fragment->type : selection.name;
      if (condition.empty() || condition == name || condition == type.name ||
          is_also(type, condition)) {
        KEDGE_TRY(
            collect(type, name, is_spread ? fragment->selections : selection.selections, wanted));
      }
    }
    return {};
  }

  static void add_wanted(const Selection& selection,
                         std::vector<std::pair<std::string, Wanted>>& wanted) {
    auto found =
        std::ranges::find(wanted, selection.key(),
                          [](const auto& entry) -> const std::string& { return entry.first; });
    if (found == wanted.end()) {
      wanted.push_back({selection.key(), Wanted{&selection}});
      found = wanted.end() - 1;
    }
    if (!selection.selections.empty()) {
      found->second.selections.push_back(&selection.selections);
    }
  }

  Result<bool> is_included(const Selection& selection) const {
    for (const Directive& directive : selection.directives) {
      const bool is_include = directive.name == "include";
      if (!is_include && directive.name != "skip") {
        return fail(ErrorKind::Usage, fmt::format("Unknown directive \"@{}\".", directive.name));
      }
      const json arguments = resolve(directive.arguments);
      const auto condition = arguments.find("if");
      const bool is_true =
          condition != arguments.end() && condition->is_boolean() && condition->get<bool>();
      if (is_true != is_include) {
        return false;
      }
    }
    return true;
  }

  Result<json> answer_field(const Type& type, const Node& node, const Wanted& wanted,
                            bool is_root) {
    const std::string& name = wanted.first->name;
    const bool is_of_schema = is_root && name.starts_with("__");
    const Type& owner = is_of_schema ? *schema_.find("__Root") : type;
    const Field& field = owner.fields.find(name)->second;
    KEDGE_CHECK(is_of_schema || node.type == type.self, "a field got the object of its type");
    Value value = KEDGE_TRY(field.resolve(node.self.get(), Args(resolve(wanted.first->arguments))));
    if (auto* leaf = std::get_if<json>(&value)) {
      return std::move(*leaf);
    }
    const Type& next = *schema_.find(field.type);
    if (const auto* one = std::get_if<Node>(&value)) {
      return answer(next, *one, wanted.selections);
    }
    json list = json::array();
    for (const Node& item : std::get<std::vector<Node>>(value)) {
      list.push_back(KEDGE_TRY(answer(next, item, wanted.selections)));
    }
    return list;
  }

  json resolve(const Arguments& arguments) const {
    json values = json::object();
    for (const auto& [name, literal] : arguments) {
      if (auto value = resolve(literal)) {
        values[name] = std::move(*value);
      }
    }
    return values;
  }

  // Nothing: a variable that was not given, which is not the same as null.
  std::optional<json> resolve(const Literal& literal) const {
    switch (literal.kind) {
      case Literal::Kind::Constant:
        return std::optional<json>(std::in_place, literal.constant);
      case Literal::Kind::Variable: {
        const auto found = variables_.find(literal.name);
        return found == variables_.end() ? std::nullopt : std::optional<json>(*found);
      }
      case Literal::Kind::List: {
        json list = json::array();
        for (const Literal& item : literal.items) {
          list.push_back(resolve(item).value_or(json()));
        }
        return list;
      }
      case Literal::Kind::Object:
        return resolve(literal.fields);
    }
    return std::nullopt;
  }

  const Schema& schema_;
  const Document& document_;
  json variables_;
  std::size_t value_count_ = 0;
};

// Defaults cannot hold variables: the grammar's constants.
json constant_of(const Literal& literal) {
  json value = literal.constant;
  if (literal.kind == Literal::Kind::List) {
    value = json::array();
    for (const Literal& item : literal.items) {
      value.push_back(constant_of(item));
    }
  } else if (literal.kind == Literal::Kind::Object) {
    value = json::object();
    for (const auto& [name, field] : literal.fields) {
      value[name] = constant_of(field);
    }
  }
  return value;
}

json declared_variables(const Operation& operation, const json& given) {
  json variables = json::object();
  for (const VariableDefinition& variable : operation.variables) {
    json value;
    if (given.is_object() && given.contains(variable.name)) {
      value = given[variable.name];
    } else if (variable.fallback) {
      value = constant_of(*variable.fallback);
    } else {
      continue;
    }
    if (variable.is_list && !value.is_array() && !value.is_null()) {
      value = json::array({std::move(value)});
    }
    variables[variable.name] = std::move(value);
  }
  return variables;
}

}  // namespace

Result<const Operation*> find_operation(const Document& document, std::string_view name) {
  if (name.empty() && document.operations.size() == 1) {
    return &document.operations.front();
  }
  const auto found = std::ranges::find(document.operations, name, &Operation::name);
  if (name.empty() || found == document.operations.end()) {
    return fail(ErrorKind::Usage, name.empty() ? std::string("Must provide operation name.")
                                               : fmt::format("Unknown operation \"{}\".", name));
  }
  return &*found;
}

Result<Question> parse_question(const json& body) {
  const auto query = body.find("query");
  if (query == body.end() || !query->is_string()) {
    return fail(ErrorKind::Usage, "the request has no query");
  }
  Question question{.document = KEDGE_TRY(parse_document(query->get<std::string>()))};
  const json name = body.value("operationName", json());
  const Operation* operation =
      KEDGE_TRY(find_operation(question.document, name.is_string() ? name.get<std::string>() : ""));
  question.chosen = static_cast<std::size_t>(operation - question.document.operations.data());
  question.variables = body.value("variables", json());
  return question;
}

Result<json> execute(const Execution& execution) {
  const Type* root = execution.schema.find(root_name(execution.operation));
  KEDGE_CHECK(root != nullptr, "the schema has the types Query and Mutation");
  const auto& selections = execution.operation.selections;
  KEDGE_TRY(Validator(execution.schema, execution.document).check(*root, selections, true));
  Executor executor(execution, declared_variables(execution.operation, execution.variables));
  return executor.answer(*root, execution.root, {&selections}, true);
}

}  // namespace kedge::graphql
