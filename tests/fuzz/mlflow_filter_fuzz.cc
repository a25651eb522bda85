// MLflow's filters, orders, page tokens and paths on any text: 'o' first, an order; 't', a page
// token; 'p', a path; anything else, a filter, whose clauses are then asked about a text and a
// number.
#include <cstdint>
#include <limits>
#include <string_view>

#include "core/result.h"
#include "input_file.h"
#include "mlflow/internal/artifact_path.h"
#include "mlflow/internal/filter.h"
#include "mlflow/internal/page_token.h"

namespace {

using namespace kedge;
using namespace kedge::mlflow;

void ask(std::string_view text, const Language& language) {
  const auto clauses = parse_filter(text, language);
  if (!clauses) {
    KEDGE_CHECK(!clauses.error().message.empty(), "what is wrong is told");
    return;
  }
  for (const Clause& clause : *clauses) {
    if (clause.is_numeric) {
      (void)matches_number(clause, std::numeric_limits<double>::quiet_NaN());
    } else {
      (void)matches_text(clause, text);
      KEDGE_CHECK(matches_text(clause, std::nullopt) == (clause.comparator == Comparator::IsNull),
                  "what is not there passes only IS NULL");
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = as_text(data, size);
  const char mode = input.empty() ? ' ' : input[0];
  if (mode == 'o') {
    (void)parse_order(input.substr(1), kRunLanguage);
  } else if (mode == 't') {
    (void)parse_page_token(input.substr(1));
  } else if (mode == 'p') {
    if (const auto path = check_path(input.substr(1))) {
      KEDGE_CHECK(path->find("..") == std::string::npos || check_path(*path),
                  "what is let through once is let through again");
      (void)find_place(*path);
    }
  } else {
    ask(input, kRunLanguage);
    ask(input, kExperimentLanguage);
    ask(input, kModelVersionLanguage);
  }
  return 0;
}
