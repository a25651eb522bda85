// A row of the journal: the points that one commit added to the series of a run.
//   row    = version u8 (2) | heartbeat | series*     (version 1 has no heartbeat)
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

// Rows of a run follow one another: its row in the upper half of their number, and where its
// journal begins and ends.
constexpr std::int64_t journal_begin(std::int64_t run) {
  return run << 32;
}

constexpr std::int64_t journal_end(std::int64_t run) {
  return journal_begin(run + 1);
}

constexpr std::int64_t run_of_journal(std::int64_t number) {
  return number >> 32;
}

// heartbeat_us: the run's last sign of life, which a commit of points writes nowhere else.
void begin_journal(std::string& out, std::int64_t heartbeat_us);
void append_journal(std::string& out, std::int64_t series_row, const Points& points);

// The heartbeat, or 0. `points` is reused from call to call. Corrupt when the bytes are anything
// else.
Result<std::int64_t> read_journal(
    std::string_view bytes,
    const std::function<Result<void>(std::int64_t series_row, const Points& points)>& visit);

}  // namespace kedge::store
