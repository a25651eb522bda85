// Reads the points of a curve: those in chunks from the database, those in the journal from memory.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "core/result.h"
#include "store/chunk.h"
#include "store/internal/database.h"
#include "store/internal/run_entry.h"
#include "store/internal/store_parts.h"
#include "store/series.h"

namespace kedge::store {

// What one attempt logged of a curve.
struct CurvePart {
  std::int64_t row = 0;
  int attempt = 1;
  std::uint64_t sealed_count = 0;  // points in chunks; the database may already have more
  Points tail;
  std::int64_t last_kept_step = std::numeric_limits<std::int64_t>::max();

  std::uint64_t count() const { return sealed_count + tail.size(); }
};

// In order of attempts. Memory first, then the database: what memory calls sealed is committed.
Result<std::vector<CurvePart>> find_parts(Store::Impl& store, const RunEntry& entry,
                                          MetricKind kind, const std::string& key);

// All its points, replaced or not, in the order they were logged.
Result<Points> read_part(Database& database, const CurvePart& part, ChunkColumns columns);

// Appends the points up to the last kept step.
Result<void> read_kept(Database& database, const CurvePart& part, ChunkColumns columns,
                       Points& points);

// One point per step, in order; of several at one step the last counts.
void order_by_step(Points& points);

}  // namespace kedge::store
