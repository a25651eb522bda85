// A row of the journal: the points that one commit added to the series of a run.
//   row    = version u8 (1) | series*
//   series = number of its row | count | count x (step | time | value f64 little-endian)
// Whole numbers are LEB128; steps and times are zigzag differences to the point before (the first
// to 0).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/result.h"
#include "store/chunk.h"

namespace kedge::store {

void begin_journal(std::string& out);
void append_journal(std::string& out, std::int64_t series_row, const Points& points);

// `points` is reused from call to call. Corrupt when the bytes are anything else.
Result<void> read_journal(
    std::string_view bytes,
    const std::function<Result<void>(std::int64_t series_row, const Points& points)>& visit);

}  // namespace kedge::store
