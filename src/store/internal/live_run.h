// A run that is being written: the places of its series, the points that are not in chunks yet, and
// what the open transaction has added. Only the writer's thread changes it; `mutex` is held for
// what readers see.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "store/chunk.h"
#include "store/internal/backends.h"
#include "store/internal/run_entry.h"
#include "store/run.h"
#include "store/series.h"

namespace kedge::store {

inline constexpr std::int64_t kNoStep = std::numeric_limits<std::int64_t>::min();

// A chunk that is not full and may still grow.
struct OpenChunk {
  std::uint64_t first_point = 0;
  std::uint64_t count = 0;
};

struct LiveSeries {
  std::string name;
  KeyId key = 0;
  int attempt = 1;
  MetricKind kind = MetricKind::Metric;

  // Committed; readers look at these.
  std::int64_t row = 0;  // 0: not in the table yet
  std::uint64_t sealed_count = 0;
  Points tail;  // in the journal
  MetricSummary kept;
  std::int64_t last_kept_step = std::numeric_limits<std::int64_t>::max();
  std::int64_t max_step = kNoStep;

  // The writer's own.
  Points fresh;                        // of the open transaction
  bool must_recount = false;           // a later attempt has replaced some of its points
  bool is_fresh = false;               // listed in RunDraft::fresh
  std::size_t next = 0;                // which series a log named after this one the last time
  std::vector<OpenChunk> open_chunks;  // the last ones, when they have been looked at
  bool has_open_chunks = false;
};

// What the open transaction has changed.
struct RunDraft {
  RunFacts facts;
  std::vector<Beginning> beginnings;
  std::optional<ConfigValues> config_values;
  std::optional<SummaryValues> summary_values;
  std::optional<SummaryValues> label_values;
  std::map<std::string, SourceState> sources;
  std::vector<std::size_t> fresh;    // series with fresh points
  std::vector<ConsoleLine> console;  // without numbers
  bool is_console_cut = false;       // there were no lines before these
  std::size_t fresh_count = 0;
  bool must_seal = false;
  bool must_write_row = false;  // more has changed than the journal tells
  bool is_deleted = false;
  unsigned changes = 0;  // a sum of kChanged...

  // Left by the flush for the commit.
  bool is_sealed = false;
  std::size_t journal_bytes = 0;
  std::vector<std::pair<std::size_t, MetricSummary>> recounted;
};

struct LiveRun {
  std::int64_t row = 0;
  RunKey key;

  std::mutex mutex;
  std::deque<LiveSeries> series;
  // By attempt and kind, then by name.
  std::map<std::pair<int, MetricKind>,
           std::unordered_map<std::string, std::size_t, TextHash, std::equal_to<>>>
      places;
  std::size_t journal_bytes = 0;
  std::int64_t journal_next = 0;  // the number of the next row; 0: there is none yet
  std::int64_t heartbeat_us = 0;  // as the journal knows it
  std::map<std::string, SourceState> sources;
  std::uint64_t console_lines = 0;
  std::size_t last_place = 0;  // the series that was added to last

  std::unique_ptr<RunDraft> draft;  // null: no transaction has touched the run
};

// Whether a point that came now is later in its curve than the summary's last one.
inline bool is_later(const MetricSummary& summary, std::int64_t step, std::int64_t time_us) {
  return summary.count == 0 || step > summary.last_step ||
         (step == summary.last_step && time_us >= summary.last_us);
}

// Adds one point's worth to a summary.
inline void add_to(MetricSummary& summary, std::int64_t step, std::int64_t time_us, double value) {
  if (is_later(summary, step, time_us)) {
    summary.last = value;
    summary.last_step = step;
    summary.last_us = time_us;
  }
  // False for NaN on the right; true for NaN on the left of a number.
  if (value < summary.min || (summary.min != summary.min)) {
    summary.min = value;
  }
  if (value > summary.max || (summary.max != summary.max)) {
    summary.max = value;
  }
  if (summary.count == 0) {
    summary.first_us = time_us;
  }
  ++summary.count;
}

// Adds points up to a step.
void add_points(MetricSummary& summary, const Points& points, std::int64_t last_kept_step);

// Adds another part of the curve, which came later.
void add_summary(MetricSummary& summary, const MetricSummary& other);

struct AttemptSummary {
  KeyId key = 0;
  int attempt = 1;
  MetricSummary kept;
};

// What the curve of each name comes to over all attempts, sorted by key.
std::vector<KeyedSummary> sum_up(std::vector<AttemptSummary> parts);
std::vector<KeyedSummary> sum_up(const LiveRun& run);

// The same where only the series at these places have changed: the cost is theirs.
void sum_up_again(std::vector<KeyedSummary>& sums, const LiveRun& run,
                  std::span<const std::size_t> places);

// What the run's row does not know of the points in the journal.
void catch_up(RunFacts& facts, const LiveRun& run);

// The place of a series in run.series, which may be new.
std::size_t find_or_add_series(LiveRun& run, int attempt, MetricKind kind, std::string_view name,
                               KeyTable& keys);

}  // namespace kedge::store
