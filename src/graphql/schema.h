// What can be asked: object types with their fields, each field a function that answers it. The
// types are declared once, at start; a request never changes them.
//
//   TypeBuilder<RunNode>(schema, "Run")
//       .leaf("name", [](const RunNode& run) { return run.key.id; })
//       .object("project", "Project", [](const RunNode& run) { return make_node(run.project); });
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeindex>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/result.h"

namespace kedge::graphql {

// The arguments of a field: variables put in, the ones that were not given left out.
class Args {
 public:
  explicit Args(nlohmann::json values) : values_(std::move(values)) {}

  // Null, missing, and a value of another type alike: nothing.
  std::optional<std::string> text(const char* name) const;
  std::optional<std::int64_t> number(const char* name) const;
  bool flag(const char* name) const;
  // One value stands for a list of one.
  std::vector<std::string> texts(const char* name) const;
  const nlohmann::json& value(const char* name) const;  // missing: null

  // The one argument that mutations have.
  Args input() const { return Args(value("input")); }

 private:
  nlohmann::json values_;
};

// An object to look into further.
struct Node {
  std::type_index type = typeid(void);
  std::shared_ptr<const void> self = {};
};

// What a field's function returns: JSON (null too), a node or a list of nodes.
using Value = std::variant<nlohmann::json, Node, std::vector<Node>>;

template <typename T>
Node make_node(T self) {
  return {typeid(T), std::make_shared<const T>(std::move(self))};
}

template <typename T>
Value make_node_or_null(std::optional<T> self) {
  return self ? Value(make_node(std::move(*self))) : Value(nlohmann::json());
}

template <typename T>
Value make_nodes(std::vector<T> selves) {
  std::vector<Node> nodes;
  nodes.reserve(selves.size());
  for (T& self : selves) {
    nodes.push_back(make_node(std::move(self)));
  }
  return nodes;
}

using Resolver = std::function<Result<Value>(const void* self, const Args& args)>;

struct Field {
  std::string type;  // what it leads to; empty: JSON as it stands
  Resolver resolve;
};

struct Type {
  std::string name;
  std::type_index self = typeid(void);
  std::map<std::string, Field> fields = {};
  // A type that is one of several says which by itself.
  std::function<std::string(const void* self)> name_of = {};
  // Names under which fragments may look into it: others' for what has several types here.
  std::vector<std::string> also = {};
};

class Schema {
 public:
  Schema();  // knows only how to describe itself: __schema and __type
  Schema(const Schema&) = delete;
  Schema& operator=(const Schema&) = delete;

  Type& add_type(const std::string& name, std::type_index self);
  // "ArtifactSequence" is looked into as the type "ArtifactCollection", whose name_of() tells.
  void add_member(const std::string& member, const std::string& type);
  // Inputs are read by the fields that take them; they are declared for clients that look first.
  void add_input(const std::string& name, std::string_view fields);  // "id name"

  const Type* find(const std::string& name) const;  // null: there is none
  const std::vector<std::string>* find_input(const std::string& name) const;
  std::vector<std::string> names() const;

 private:
  void describe_itself();

  std::map<std::string, std::unique_ptr<Type>> types_;
  std::map<std::string, std::string> members_;
  std::map<std::string, std::vector<std::string>> inputs_;
};

// Declares the fields of a type whose objects are Ts.
template <typename T>
class TypeBuilder {
 public:
  TypeBuilder(Schema& schema, const std::string& name) : type_(schema.add_type(name, typeid(T))) {}

  // `answer` takes the object and, if it wants, the arguments, or is a member of it. What it
  // returns becomes JSON, or a node where JSON cannot hold it; nothing becomes null.
  template <typename F>
  TypeBuilder& leaf(std::string name, F answer) {
    return add(std::move(name), "", std::move(answer));
  }

  // The same for nodes of the type `type`.
  template <typename F>
  TypeBuilder& object(std::string name, std::string type, F answer) {
    return add(std::move(name), std::move(type), std::move(answer));
  }

  template <typename F>
  TypeBuilder& name_of(F answer) {
    type_.name_of = [answer = std::move(answer)](const void* self) {
      return std::string(answer(*static_cast<const T*>(self)));
    };
    return *this;
  }

  TypeBuilder& also(std::string name) {
    type_.also.push_back(std::move(name));
    return *this;
  }

 private:
  template <typename F>
  TypeBuilder& add(std::string name, std::string type, F answer) {
    type_.fields[std::move(name)] = {
        std::move(type),
        [answer = std::move(answer)](const void* self, const Args& args) -> Result<Value> {
          const T& object = *static_cast<const T*>(self);
          if constexpr (std::is_invocable_v<F, const T&, const Args&>) {
            return wrap(answer(object, args));
          } else {
            return wrap(std::invoke(answer, object));
          }
        }};
    return *this;
  }

  static Result<Value> wrap(Result<Value> value) { return value; }

  static Result<Value> wrap(Node node) { return Value(std::move(node)); }

  template <typename V>
  static Result<Value> wrap(V self) {
    return Value(make_node(std::move(self)));
  }

  template <typename V>
    requires(!std::is_constructible_v<nlohmann::json, V>)
  static Result<Value> wrap(std::vector<V> selves) {
    return make_nodes(std::move(selves));
  }

  static Result<Value> wrap(Value value) { return value; }

  template <typename V>
  static Result<Value> wrap(Result<V> value) {
    return value ? wrap(std::move(*value))
                 : Result<Value>(std::unexpected(std::move(value).error()));
  }

  template <typename V>
    requires std::is_constructible_v<nlohmann::json, V>
  static Result<Value> wrap(V value) {
    return Value(nlohmann::json(std::move(value)));
  }

  template <typename V>
  static Result<Value> wrap(std::optional<V> value) {
    return value ? wrap(std::move(*value)) : Result<Value>(Value(nlohmann::json()));
  }

  Type& type_;
};

}  // namespace kedge::graphql
