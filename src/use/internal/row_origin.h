// Which model the rows of an output came from: <output>.origin.json beside it. A prediction that is
// continued with another checkpoint would mix two models' answers in one file.
#pragma once

#include <cstdint>

#include "core/file.h"
#include "core/result.h"

namespace kedge::use {

struct RowOrigin {
  Path checkpoint;
  std::int64_t top_k = 0;
};

// Before the first row of a new output: writes its origin. Where rows are there already: a Usage
// error when another checkpoint or top_k made them, a warning when nothing says who did.
Result<void> claim_rows(const Path& output, const RowOrigin& origin, bool has_rows);

}  // namespace kedge::use
