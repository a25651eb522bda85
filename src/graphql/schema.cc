#include "graphql/schema.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace kedge::graphql {
namespace {

using nlohmann::json;

// What introspection shows of a type, a field or an input's field.
struct TypeInfo {
  const Schema* schema = nullptr;
  std::string name = {};
};

struct FieldInfo {
  const Schema* schema = nullptr;
  std::string name = {};
  std::string type = {};
};

struct SchemaInfo {
  const Schema* schema = nullptr;
};

struct Nothing {};

std::vector<FieldInfo> fields_of(const TypeInfo& info) {
  std::vector<FieldInfo> fields;
  if (const Type* type = info.schema->find(info.name)) {
    for (const auto& [name, field] : type->fields) {
      if (!name.starts_with("__")) {
        fields.push_back({info.schema, name, field.type});
      }
    }
  }
  return fields;
}

std::vector<FieldInfo> inputs_of(const TypeInfo& info) {
  std::vector<FieldInfo> fields;
  if (const auto* names = info.schema->find_input(info.name)) {
    for (const std::string& name : *names) {
      fields.push_back({info.schema, name, {}});
    }
  }
  return fields;
}

std::string kind_of(const TypeInfo& info) {
  if (info.schema->find_input(info.name) != nullptr) {
    return "INPUT_OBJECT";
  }
  return info.schema->find(info.name) != nullptr ? "OBJECT" : "SCALAR";
}

Value type_or_null(const Schema& schema, const std::string& name) {
  if (schema.find(name) == nullptr && schema.find_input(name) == nullptr) {
    return json();
  }
  return make_node(TypeInfo{&schema, name});
}

}  // namespace

std::optional<std::string> Args::text(const char* name) const {
  const nlohmann::json& found = value(name);
  return found.is_string() ? std::optional(found.get<std::string>()) : std::nullopt;
}

std::optional<std::int64_t> Args::number(const char* name) const {
  const nlohmann::json& found = value(name);
  if (found.is_number_integer()) {
    return found.get<std::int64_t>();
  }
  // A Float that is whole stands for an Int: clients send steps so.
  constexpr double kLimit = 9.0e18;
  if (found.is_number_float() && found.get<double>() > -kLimit && found.get<double>() < kLimit) {
    return static_cast<std::int64_t>(found.get<double>());
  }
  return std::nullopt;
}

bool Args::flag(const char* name) const {
  const nlohmann::json& found = value(name);
  return found.is_boolean() && found.get<bool>();
}

std::vector<std::string> Args::texts(const char* name) const {
  const nlohmann::json& found = value(name);
  if (found.is_string()) {
    return {found.get<std::string>()};
  }
  std::vector<std::string> texts;
  if (found.is_array()) {
    for (const nlohmann::json& item : found) {
      if (item.is_string()) {
        texts.push_back(item.get<std::string>());
      }
    }
  }
  return texts;
}

const nlohmann::json& Args::value(const char* name) const {
  static const nlohmann::json kNull;
  if (!values_.is_object()) {
    return kNull;
  }
  const auto found = values_.find(name);
  return found == values_.end() ? kNull : *found;
}

Schema::Schema() {
  describe_itself();
}

Type& Schema::add_type(const std::string& name, std::type_index self) {
  auto& type = types_[name];
  if (type == nullptr) {
    type = std::make_unique<Type>(Type{.name = name, .self = self});
  }
  KEDGE_CHECK(type->self == self, "the objects of a GraphQL type are of one C++ type");
  return *type;
}

void Schema::add_member(const std::string& member, const std::string& type) {
  members_[member] = type;
}

void Schema::add_input(const std::string& name, std::string_view fields) {
  for (std::size_t at = 0; at < fields.size();) {
    const std::size_t end = std::min(fields.find(' ', at), fields.size());
    inputs_[name].emplace_back(fields.substr(at, end - at));
    at = end + 1;
  }
}

const Type* Schema::find(const std::string& name) const {
  const auto member = members_.find(name);
  const auto found = types_.find(member == members_.end() ? name : member->second);
  return found == types_.end() ? nullptr : found->second.get();
}

const std::vector<std::string>* Schema::find_input(const std::string& name) const {
  const auto found = inputs_.find(name);
  return found == inputs_.end() ? nullptr : &found->second;
}

std::vector<std::string> Schema::names() const {
  std::vector<std::string> names;
  for (const auto& [name, type] : types_) {
    names.push_back(name);
  }
  for (const auto& [name, type] : members_) {
    names.push_back(name);
  }
  for (const auto& [name, fields] : inputs_) {
    names.push_back(name);
  }
  return names;
}

void Schema::describe_itself() {
  TypeBuilder<TypeInfo>(*this, "__Type")
      .leaf("name", [](const TypeInfo& type) { return type.name; })
      .leaf("kind", [](const TypeInfo& type) { return kind_of(type); })
      .leaf("description", [](const TypeInfo&) { return json(); })
      .object("fields", "__Field",
              [](const TypeInfo& type) {
                return type.schema->find_input(type.name) != nullptr ? Value(json())
                                                                     : make_nodes(fields_of(type));
              })
      .object("inputFields", "__InputValue",
              [](const TypeInfo& type) {
                return type.schema->find_input(type.name) != nullptr ? make_nodes(inputs_of(type))
                                                                     : Value(json());
              })
      .leaf("enumValues", [](const TypeInfo&) { return json(); })
      .object("ofType", "__Type", [](const TypeInfo&) { return Value(json()); });
  TypeBuilder<FieldInfo>(*this, "__Field")
      .leaf("name", [](const FieldInfo& field) { return field.name; })
      .leaf("description", [](const FieldInfo&) { return json(); })
      .object("args", "__InputValue", [](const FieldInfo&) { return make_nodes<FieldInfo>({}); })
      .object("type", "__Type", [](const FieldInfo& field) {
        return Value(make_node(TypeInfo{field.schema, field.type.empty() ? "JSON" : field.type}));
      });
  TypeBuilder<FieldInfo>(*this, "__InputValue")
      .leaf("name", [](const FieldInfo& field) { return field.name; })
      .leaf("description", [](const FieldInfo&) { return json(); })
      .object("type", "__Type",
              [](const FieldInfo& field) { return make_node(TypeInfo{field.schema, "JSON"}); });
  TypeBuilder<SchemaInfo>(*this, "__Schema")
      .object("queryType", "__Type",
              [](const SchemaInfo& info) { return make_node(TypeInfo{info.schema, "Query"}); })
      .object("mutationType", "__Type",
              [](const SchemaInfo& info) { return make_node(TypeInfo{info.schema, "Mutation"}); })
      .object("types", "__Type", [](const SchemaInfo& info) {
        std::vector<TypeInfo> types;
        for (const std::string& name : info.schema->names()) {
          types.push_back({info.schema, name});
        }
        return make_nodes(std::move(types));
      });
  TypeBuilder<Nothing>(*this, "__Root")
      .object("__schema", "__Schema",
              [this](const Nothing&) { return make_node(SchemaInfo{this}); })
      .object("__type", "__Type", [this](const Nothing&, const Args& args) {
        return type_or_null(*this, args.text("name").value_or(""));
      });
}

}  // namespace kedge::graphql
