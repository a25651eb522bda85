// A GraphQL request document as its text says it: operations and fragments, nothing looked up yet.
// The part of the language (October 2021) that clients of the wire use: no subscriptions, no type
// definitions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/result.h"

namespace kedge::graphql {

// A value as it is written: a constant, or something with variables in it.
struct Literal {
  enum class Kind : std::uint8_t { Constant, Variable, List, Object };
  Kind kind = Kind::Constant;
  nlohmann::json constant = {};  // an enum's word is its text
  std::string name = {};         // of a variable
  std::vector<Literal> items = {};
  std::vector<std::pair<std::string, Literal>> fields = {};
};

using Arguments = std::vector<std::pair<std::string, Literal>>;

struct Directive {
  std::string name;
  Arguments arguments = {};
};

struct Selection {
  enum class Kind : std::uint8_t { Field, Spread, Inline };
  Kind kind = Kind::Field;
  std::string name = {};   // of the field or the fragment; of Inline the type, which may be empty
  std::string alias = {};  // of a field; empty: its name
  Arguments arguments = {};
  std::vector<Directive> directives = {};
  std::vector<Selection> selections = {};

  const std::string& key() const { return alias.empty() ? name : alias; }
};

struct VariableDefinition {
  std::string name;
  bool is_list = false;
  std::optional<Literal> fallback = {};
};

struct Operation {
  bool is_mutation = false;
  std::string name = {};
  std::vector<VariableDefinition> variables = {};
  std::vector<Selection> selections = {};
};

struct Fragment {
  std::string type;
  std::vector<Selection> selections = {};
};

struct Document {
  std::vector<Operation> operations = {};
  std::map<std::string, Fragment> fragments = {};
};

// Longer or deeper documents are refused; real ones have 10 KB and 12 levels.
inline constexpr std::size_t kMaxDocumentBytes = 256UL << 10U;
inline constexpr std::size_t kMaxDepth = 64;

// Usage, with line and column, for anything that is no such document.
Result<Document> parse_document(std::string_view text);

}  // namespace kedge::graphql
