// How large a GraphQL document may be, before anything of it is looked up: MLflow's own limits.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graphql/document.h"

namespace kedge::mlflow {

// The fields of one level: those of its fragments stand among them.
std::vector<const graphql::Selection*> fields_of_level(
    const graphql::Document& document, const std::vector<graphql::Selection>& selections);

// What is too much, in MLflow's words; nothing when all is well.
std::optional<std::string> find_excess(const graphql::Document& document);

}  // namespace kedge::mlflow
