#include "store/chunk.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>

#include "core/byte_reader.h"
#include "core/hash.h"
#include "store/internal/column.h"

namespace kedge::store {
namespace {

constexpr std::uint8_t kChunkVersion = 1;

template <typename T>
std::span<const std::uint64_t> words_of(const std::vector<T>& column) {
  static_assert(sizeof(T) == sizeof(std::uint64_t));
  return {reinterpret_cast<const std::uint64_t*>(column.data()), column.size()};
}

template <typename T>
std::span<std::uint64_t> words_from(std::vector<T>& column, std::size_t start) {
  static_assert(sizeof(T) == sizeof(std::uint64_t));
  return {reinterpret_cast<std::uint64_t*>(column.data()) + start, column.size() - start};
}

std::uint32_t checksum(std::string_view bytes) {
  return static_cast<std::uint32_t>(xxh3_64(as_bytes(bytes)));
}

Error damaged(std::string_view what) {
  return {ErrorKind::Corrupt, "a metric chunk is damaged: " + std::string(what), ""};
}

// The bytes between the version and the checksum.
Result<std::string_view> body_of(std::string_view bytes) {
  if (bytes.size() < 1 + sizeof(std::uint32_t)) {
    return std::unexpected(damaged("it has only " + std::to_string(bytes.size()) + " bytes"));
  }
  const auto version = static_cast<std::uint8_t>(bytes[0]);
  if (version != kChunkVersion) {
    return std::unexpected(damaged("version " + std::to_string(version) + " is not known"));
  }
  const std::string_view summed = bytes.substr(0, bytes.size() - sizeof(std::uint32_t));
  ByteReader tail(bytes.substr(summed.size()));
  if (tail.fixed<std::uint32_t>() != checksum(summed)) {
    return std::unexpected(damaged("its checksum is wrong"));
  }
  return summed.substr(1);
}

void append_checksum(std::string& bytes) {
  append_fixed(bytes, checksum(bytes));
}

bool read_columns(ByteReader& reader, ChunkColumns columns, std::size_t start, Points& points) {
  const std::size_t count = points.size() - start;
  const bool has_steps = columns == ChunkColumns::TimesAndValues
                             ? skip_column(reader, count)
                             : read_column(reader, words_from(points.steps, start));
  const bool has_times =
      has_steps && (columns == ChunkColumns::StepsAndValues
                        ? skip_column(reader, count)
                        : read_column(reader, words_from(points.times_us, start)));
  return has_times && read_column(reader, words_from(points.values, start)) && reader.is_at_end();
}

void add_to_sketch(PointsSketch& sketch, const Point& point) {
  if (sketch.count == 0) {
    sketch.first = sketch.min = sketch.max = point;
  }
  sketch.last = point;
  if (std::isnan(point.value)) {
    if (sketch.nan_count == 0) {
      sketch.nan = point;
    }
    ++sketch.nan_count;
  } else {
    if (!(sketch.min.value <= point.value)) {
      sketch.min = point;
    }
    if (!(sketch.max.value >= point.value)) {
      sketch.max = point;
    }
  }
  ++sketch.count;
}

bool is_same(const Point& a, const Point& b) {
  return a.step == b.step && a.time_us == b.time_us &&
         std::bit_cast<std::uint64_t>(a.value) == std::bit_cast<std::uint64_t>(b.value);
}

PointsSketch read_counts(ByteReader& reader) {
  PointsSketch sketch;
  sketch.count = static_cast<std::uint32_t>(std::min<std::uint64_t>(reader.varint(), UINT32_MAX));
  sketch.nan_count =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(reader.varint(), UINT32_MAX));
  return sketch;
}

void append_points(Points& points, const PointsSketch& sketch) {
  for (const Point& point : {sketch.first, sketch.min, sketch.max, sketch.last, sketch.nan}) {
    points.add(point);
  }
}

constexpr std::size_t kPointsOfSketch = 5;

void take_points(const Points& points, std::size_t start, PointsSketch& sketch) {
  sketch.first = points.at(start);
  sketch.min = points.at(start + 1);
  sketch.max = points.at(start + 2);
  sketch.last = points.at(start + 3);
  sketch.nan = points.at(start + 4);
}

}  // namespace

void Points::add(const Point& point) {
  steps.push_back(point.step);
  times_us.push_back(point.time_us);
  values.push_back(point.value);
}

void Points::resize(std::size_t count) {
  steps.resize(count);
  times_us.resize(count);
  values.resize(count);
}

std::string encode_chunk(const Points& points) {
  KEDGE_CHECK(points.size() <= kMaxChunkPoints, "a chunk holds only so many points");
  KEDGE_CHECK(points.times_us.size() == points.size() && points.values.size() == points.size(),
              "columns have one length");
  std::string bytes(1, static_cast<char>(kChunkVersion));
  append_varint(bytes, points.size());
  append_column(bytes, ColumnKind::Integers, words_of(points.steps));
  append_column(bytes, ColumnKind::Integers, words_of(points.times_us));
  append_column(bytes, ColumnKind::Doubles, words_of(points.values));
  append_checksum(bytes);
  return bytes;
}

Result<Points> decode_chunk(std::string_view bytes, ChunkColumns columns) {
  Points points;
  KEDGE_TRY(decode_chunk_onto(bytes, columns, points));
  return points;
}

Result<void> decode_chunk_onto(std::string_view bytes, ChunkColumns columns, Points& points) {
  ByteReader reader(KEDGE_TRY(body_of(bytes)));
  const std::uint64_t count = reader.varint();
  if (!reader.is_good() || count > kMaxChunkPoints) {
    return std::unexpected(damaged("it claims too many points"));
  }
  const std::size_t start = points.size();
  points.resize(start + count);
  if (!read_columns(reader, columns, start, points)) {
    points.resize(start);
    return std::unexpected(damaged("a column does not have its length"));
  }
  return {};
}

bool PointsSketch::operator==(const PointsSketch& other) const {
  return count == other.count && nan_count == other.nan_count && is_same(first, other.first) &&
         is_same(last, other.last) && is_same(min, other.min) && is_same(max, other.max) &&
         (nan_count == 0 || is_same(nan, other.nan));
}

ChunkSketch sketch_of(const Points& points) {
  KEDGE_CHECK(!points.empty(), "a sketch is of points");
  ChunkSketch sketch;
  const std::size_t count = points.size();
  const std::size_t range_count = std::min(count, kSketchRanges);
  sketch.ranges.resize(range_count);
  for (std::size_t r = 0; r < range_count; ++r) {
    for (std::size_t i = r * count / range_count; i < (r + 1) * count / range_count; ++i) {
      add_to_sketch(sketch.ranges[r], points.at(i));
      add_to_sketch(sketch.stats.whole, points.at(i));
    }
  }
  ChunkStats& stats = sketch.stats;
  const auto [min_step, max_step] = std::ranges::minmax(points.steps);
  const auto [min_time_us, max_time_us] = std::ranges::minmax(points.times_us);
  stats.min_step = min_step;
  stats.max_step = max_step;
  stats.min_time_us = min_time_us;
  stats.max_time_us = max_time_us;
  stats.has_infinity = std::ranges::any_of(points.values, [](double v) { return std::isinf(v); });
  stats.is_sorted = std::ranges::is_sorted(points.steps);
  return sketch;
}

// The points of all sketches are a chunk of their own: nothing packs points better.
std::string encode_sketch(const ChunkSketch& sketch) {
  const ChunkStats& stats = sketch.stats;
  std::string bytes(1, static_cast<char>(kChunkVersion));
  append_varint(bytes, (stats.has_infinity ? 1U : 0U) | (stats.is_sorted ? 2U : 0U));
  append_varint(bytes, sketch.ranges.size());
  Points points;
  append_varint(bytes, stats.whole.count);
  append_varint(bytes, stats.whole.nan_count);
  append_points(points, stats.whole);
  for (const PointsSketch& range : sketch.ranges) {
    append_varint(bytes, range.count);
    append_varint(bytes, range.nan_count);
    append_points(points, range);
  }
  points.add({stats.min_step, stats.min_time_us, 0});
  points.add({stats.max_step, stats.max_time_us, 0});
  return bytes + encode_chunk(points);
}

Result<ChunkSketch> decode_sketch(std::string_view bytes) {
  ByteReader reader(bytes);
  const auto version = reader.fixed<std::uint8_t>();
  const std::uint64_t flags = reader.varint();
  const std::uint64_t range_count = reader.varint();
  if (!reader.is_good() || version != kChunkVersion || range_count > kSketchRanges) {
    return std::unexpected(damaged("its sketch cannot be read"));
  }
  ChunkSketch sketch;
  ChunkStats& stats = sketch.stats;
  stats.has_infinity = (flags & 1U) != 0;
  stats.is_sorted = (flags & 2U) != 0;
  stats.whole = read_counts(reader);
  for (std::uint64_t r = 0; r < range_count; ++r) {
    sketch.ranges.push_back(read_counts(reader));
  }
  const Points points = KEDGE_TRY(decode_chunk(reader.take(reader.left())));
  if (!reader.is_good() || points.size() != (range_count + 1) * kPointsOfSketch + 2) {
    return std::unexpected(damaged("its sketch has not all its points"));
  }
  take_points(points, 0, stats.whole);
  for (std::size_t r = 0; r < range_count; ++r) {
    take_points(points, (r + 1) * kPointsOfSketch, sketch.ranges[r]);
  }
  const Point least = points.at(points.size() - 2);
  const Point greatest = points.at(points.size() - 1);
  stats.min_step = least.step;
  stats.max_step = greatest.step;
  stats.min_time_us = least.time_us;
  stats.max_time_us = greatest.time_us;
  return sketch;
}

}  // namespace kedge::store
