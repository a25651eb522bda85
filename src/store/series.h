// What can be asked about the curves of a run, and what it logs besides curves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "store/run.h"

namespace kedge::store {

// System: how busy the machine was. Nothing replaces such points, and many may have one step.
enum class MetricKind : std::uint8_t { Metric, System };

struct LogPoint {
  std::string key;
  std::int64_t step = 0;
  double value = 0;
  std::int64_t time_us = 0;  // 0: now
  MetricKind kind = MetricKind::Metric;
};

struct Metric {
  std::string key;
  MetricKind kind = MetricKind::Metric;
  MetricSummary summary;
};

struct SeriesRequest {
  RunKey run;
  std::string key;
  MetricKind kind = MetricKind::Metric;
  // step, time (Unix seconds), relative (seconds since the run's creation), epoch (with fractions
  // between the steps where it was logged), or a metric: its value at the same step.
  std::string x = "step";
  std::size_t points = 500;         // about this many at most; 0: every point
  std::optional<double> from = {};  // of x, both included
  std::optional<double> to = {};
  std::optional<int> attempt = {};  // what this attempt logged, replaced or not
};

struct Series {
  std::vector<double> x;  // rising
  std::vector<double> y;
  std::uint64_t count = 0;  // of all points in the range
  bool is_sampled = false;  // x, y hold the min and max of each bucket
};

// Anything a run logs that is not a curve: histogram, table, image, text, html, alert, ...
struct Record {
  std::string type;
  std::string key;
  std::int64_t step = 0;
  std::int64_t time_us = 0;
  int attempt = 1;
  nlohmann::json body;
};

struct RecordQuery {
  std::string type = {};  // empty: all
  std::string key = {};
  std::optional<std::int64_t> from_step = {};
  std::optional<std::int64_t> to_step = {};
  std::size_t limit = 100;                 // the newest that match, in the order they were logged
  std::optional<std::size_t> offset = {};  // given: from this one on, the oldest is number 0
};

// At most about 64 MiB: where that is less than what was asked for, the oldest are left out.
struct RecordAnswer {
  std::vector<Record> records;
  bool is_cut = false;
  std::vector<std::string> keys;  // all keys of that type
  std::size_t total = 0;          // that match, whatever the limit
};

// What a run has logged under one name.
struct RecordKey {
  std::string type;
  std::string key;
  std::size_t count = 0;
};

struct ConsoleLine {
  std::uint64_t n = 0;  // from 0
  std::int64_t time_us = 0;
  std::string text;
  bool is_error = false;  // came over stderr, where that is known
};

struct Console {
  std::vector<ConsoleLine> lines;  // at most about 64 MiB; the next ones are asked for
  std::uint64_t total = 0;
};

// A file of a run; the bytes are the blob with this digest.
struct RunFile {
  std::string path;
  std::uint64_t size = 0;
  std::string digest;
};

// How far a log has been taken in: records 0 .. next_seq-1. `offset` counts the bytes of their
// frames, from the first record after the file's header. `digest` is 16 hex digits of the chain in
// docs/formats/store.md.
struct SourceState {
  std::uint64_t next_seq = 0;
  std::uint64_t offset = 0;
  std::string digest = "0000000000000000";
};

struct Frames {
  RunKey run;
  std::string writer;  // "a1-r0"
  std::uint64_t from_seq = 0;
  std::string bytes;  // whole frames: u32 length, u32 crc32c, payload
};

struct IngestAnswer {
  SourceState state;
  bool is_gap = false;         // from_seq is beyond next_seq: nothing was taken
  std::uint64_t accepted = 0;  // records; those below next_seq are skipped
};

}  // namespace kedge::store
