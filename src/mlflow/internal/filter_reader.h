// A filter's comparisons, before anybody asks what they mean: name, comparator, value.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mlflow/internal/fault.h"
#include "mlflow/internal/filter_lexer.h"

namespace kedge::mlflow {

struct Sentence {
  Piece name = {};
  std::string comparator = {};  // in capitals
  std::string as_written = {};  // its last word
  Piece value = {};             // of IS NULL nothing
};

// Joined by AND or by nothing. `is_quoting` is how the message shows what is no comparison.
Outcome<std::vector<Sentence>> read_sentences(std::string_view text, bool is_quoting);

std::string upper_case(std::string_view text);

}  // namespace kedge::mlflow
