// A chunk is a run of points of one series, packed by column: steps, times and values, each as
// residuals cut into byte planes, and each plane left out, stored or compressed with zstd, as is
// smallest. docs/formats/chunk.md is the byte layout.
//
// What is read is never trusted: any bytes give points or a Corrupt error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace kedge::store {

struct Point {
  std::int64_t step = 0;
  std::int64_t time_us = 0;  // Unix time
  double value = 0;

  bool operator==(const Point&) const = default;
};

// Points by column, in the order they were logged. All three have one length.
struct Points {
  std::vector<std::int64_t> steps;
  std::vector<std::int64_t> times_us;
  std::vector<double> values;

  std::size_t size() const { return steps.size(); }

  bool empty() const { return steps.empty(); }

  Point at(std::size_t index) const { return {steps[index], times_us[index], values[index]}; }

  void add(const Point& point);
  void resize(std::size_t count);

  void clear() { resize(0); }
};

// The store seals at 4096; a chunk that claims more than this is damaged.
inline constexpr std::size_t kMaxChunkPoints = 65536;

// Every bit of every value comes back: NaN payloads, -0 and denormals too. At most kMaxChunkPoints.
std::string encode_chunk(const Points& points);

enum class ChunkColumns : std::uint8_t { All, StepsAndValues, TimesAndValues };

// Columns not asked for come back as zeros, of the same length, and are not unpacked.
Result<Points> decode_chunk(std::string_view bytes, ChunkColumns columns = ChunkColumns::All);

// Appends to `points`, so that many chunks become one series without a copy.
Result<void> decode_chunk_onto(std::string_view bytes, ChunkColumns columns, Points& points);

// What is known of a stretch of points without unpacking it. min and max pass over NaN; of equal
// values they are the first. Where all are NaN, they are the first point.
struct PointsSketch {
  std::uint32_t count = 0;
  std::uint32_t nan_count = 0;
  Point first;
  Point last;
  Point min;  // the point with the least value
  Point max;
  Point nan;  // the first NaN; meaningful when nan_count > 0

  bool operator==(const PointsSketch& other) const;  // NaN equals NaN
};

struct ChunkStats {
  PointsSketch whole;
  std::int64_t min_step = 0;
  std::int64_t max_step = 0;
  std::int64_t min_time_us = 0;
  std::int64_t max_time_us = 0;
  bool has_infinity = false;
  bool is_sorted = true;  // steps never fall

  bool operator==(const ChunkStats&) const = default;
};

inline constexpr std::size_t kSketchRanges = 16;

// At least one point. A wide chart feeds the ranges to a Downsampler and leaves the chunk packed;
// they cut the points, in order, into at most kSketchRanges parts of nearly one length.
struct ChunkSketch {
  ChunkStats stats;
  std::vector<PointsSketch> ranges;

  bool operator==(const ChunkSketch&) const = default;
};

ChunkSketch sketch_of(const Points& points);

std::string encode_sketch(const ChunkSketch& sketch);
Result<ChunkSketch> decode_sketch(std::string_view bytes);

}  // namespace kedge::store
