// Answers a request document from a schema.
#pragma once

#include <cstddef>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "core/result.h"
#include "graphql/document.h"
#include "graphql/schema.h"

namespace kedge::graphql {

// More than this of anything is refused; the largest real request comes to some ten thousand.
inline constexpr std::size_t kMaxFields = 100'000;    // of a document, fragments spread out
inline constexpr std::size_t kMaxValues = 4'000'000;  // of an answer

// Picks the operation that is named; an empty name is for the only one.
Result<const Operation*> find_operation(const Document& document, std::string_view name);

// What a request's body asks: {"query", "operationName", "variables"}.
struct Question {
  Document document;
  std::size_t chosen = 0;  // of the document's operations
  nlohmann::json variables = {};

  const Operation& operation() const { return document.operations[chosen]; }
};

Result<Question> parse_question(const nlohmann::json& body);

// Usage, before anything is done, for fields, fragments and types that are not there:
// `Cannot query field "x" on type "Y".`. The first error of a field ends the execution. Operations
// begin at the types Query and Mutation, whose object is `root`. Variables that the operation does
// not declare are ignored; a single value for a list becomes a list.
struct Execution {
  const Schema& schema;
  const Document& document;
  const Operation& operation;
  const nlohmann::json& variables;  // an object, or null
  Node root;
};

Result<nlohmann::json> execute(const Execution& execution);

}  // namespace kedge::graphql
