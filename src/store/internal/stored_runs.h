// Reads what lists and searches need of all runs, when a store is opened: the runs and their
// curves' summaries, by two readers at once, without a query for each run.
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_set>
#include <vector>

#include "core/result.h"
#include "store/internal/database.h"
#include "store/internal/run_entry.h"
#include "store/internal/run_index.h"
#include "store/internal/run_rows.h"

namespace kedge::store {

struct StoredRuns {
  std::vector<RunEntry> entries;               // in order of their rows
  std::unordered_set<std::int64_t> journaled;  // rows of those with points in the journal
};

// A connection for the time of `work`.
using ReadWith = std::function<Result<void>(const std::function<Result<void>(Database&)>& work)>;

Result<StoredRuns> read_stored_runs(Database& database, const ReadWith& read, RunIndex& index);

// One run, without its metrics and beginnings. Corrupt when its texts are no JSON.
Result<RunEntry> make_entry(std::int64_t row, RunFacts facts, const RunTexts& texts,
                            RunIndex& index);

}  // namespace kedge::store
