// Where the next page begins, as MLflow's clients carry it: base64 of {"offset": N}.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "mlflow/internal/fault.h"

namespace kedge::mlflow {

std::string make_page_token(std::size_t offset);
// An empty token is the first page.
Outcome<std::size_t> parse_page_token(std::string_view token);

}  // namespace kedge::mlflow
