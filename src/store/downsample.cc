#include "store/downsample.h"

#include <algorithm>
#include <cmath>

#include "core/result.h"

namespace kedge::store {

// A point and when it came, which decides between points of one x.
struct Downsampler::Ordered {
  ChartPoint point;
  std::uint64_t order = 0;

  bool operator<(const Ordered& other) const {
    return point.x != other.point.x ? point.x < other.point.x : order < other.order;
  }
};

Downsampler::Downsampler(double from_x, double to_x, std::size_t bucket_count)
    : from_x_(from_x), to_x_(to_x), bucket_count_(bucket_count) {
  KEDGE_CHECK(std::isfinite(from_x) && std::isfinite(to_x), "a chart has ends");
  KEDGE_CHECK(bucket_count > 0, "a chart has buckets");
  // Halves first: the width of a range of very large numbers would be infinite.
  const double half_width = to_x / 2 - from_x / 2;
  buckets_per_x_ = half_width > 0 ? static_cast<double>(bucket_count) / 2 / half_width : 0;
}

bool Downsampler::is_in_range(double x) const {
  return x >= from_x_ && x <= to_x_;
}

std::size_t Downsampler::bucket_of(double x) const {
  const double place = (x / 2 - from_x_ / 2) * 2 * buckets_per_x_;
  // Not finite where the width is denormal; the last bucket takes what rounding puts beyond it.
  if (!(place > 0)) {
    return 0;
  }
  return place < static_cast<double>(bucket_count_) ? static_cast<std::size_t>(place)
                                                    : bucket_count_ - 1;
}

bool Downsampler::is_in_one_bucket(double first_x, double last_x) const {
  return is_in_range(first_x) && is_in_range(last_x) && bucket_of(first_x) == bucket_of(last_x);
}

void Downsampler::note_ends(ChartPoint point, std::uint64_t order) {
  const Ordered here{point, order};
  if (!has_ends_ || here < Ordered{first_, first_order_}) {
    first_ = point;
    first_order_ = order;
  }
  if (!has_ends_ || Ordered{last_, last_order_} < here) {
    last_ = point;
    last_order_ = order;
  }
  has_ends_ = true;
}

void Downsampler::add_to_bucket(ChartPoint point, std::uint64_t order) {
  note_ends(point, order);
  Bucket& bucket = buckets_[bucket_of(point.x)];
  if (std::isnan(point.y)) {
    if (!bucket.has_nan || point.x < bucket.nan_x) {
      bucket.nan_x = point.x;
      bucket.nan_order = order;
    }
    bucket.has_nan = true;
    return;
  }
  if (!bucket.has_value || point.y < bucket.min.y) {
    bucket.min = point;
    bucket.min_order = order;
  }
  if (!bucket.has_value || point.y > bucket.max.y) {
    bucket.max = point;
    bucket.max_order = order;
  }
  bucket.has_value = true;
}

void Downsampler::use_buckets() {
  if (!buckets_.empty()) {
    return;
  }
  buckets_.resize(bucket_count_);
  for (std::size_t i = 0; i < every_.size(); ++i) {
    add_to_bucket(every_[i], i);
  }
  every_ = {};
}

void Downsampler::add(double x, double y) {
  if (!is_in_range(x)) {
    return;
  }
  ++count_;
  if (buckets_.empty()) {
    if (every_.size() < 2 * bucket_count_) {
      every_.push_back({x, y});
      ++order_;
      return;
    }
    use_buckets();
  }
  add_to_bucket({x, y}, order_++);
}

void Downsampler::add(const ChartRange& range) {
  KEDGE_CHECK(is_in_one_bucket(range.first.x, range.last.x), "a range is fed into one bucket");
  use_buckets();
  count_ += range.count;
  note_ends(range.first, order_++);
  if (range.nan_count < range.count) {
    // In the order they came, should they share one x.
    const bool is_min_first = range.min.x <= range.max.x;
    add_to_bucket(is_min_first ? range.min : range.max, order_++);
    add_to_bucket(is_min_first ? range.max : range.min, order_++);
  }
  if (range.nan_count > 0) {
    add_to_bucket({range.nan_x, std::numeric_limits<double>::quiet_NaN()}, order_++);
  }
  note_ends(range.last, order_++);
}

Chart Downsampler::finish_every() {
  std::ranges::stable_sort(every_, {}, &ChartPoint::x);
  return {.points = std::move(every_), .count = count_, .is_sampled = false};
}

Chart Downsampler::finish() {
  if (buckets_.empty()) {
    return finish_every();
  }
  std::vector<Ordered> kept;
  kept.reserve(2 * bucket_count_ + 2);
  kept.push_back({first_, first_order_});
  for (const Bucket& bucket : buckets_) {
    if (bucket.has_value) {
      kept.push_back({bucket.min, bucket.min_order});
      kept.push_back({bucket.max, bucket.max_order});
    }
    if (bucket.has_nan) {
      kept.push_back({{bucket.nan_x, std::numeric_limits<double>::quiet_NaN()}, bucket.nan_order});
    }
  }
  kept.push_back({last_, last_order_});
  std::ranges::sort(kept, std::less<>());

  Chart chart{.points = {}, .count = count_, .is_sampled = true};
  for (const auto& [point, order] : kept) {
    if (!chart.points.empty()) {
      const ChartPoint& before = chart.points.back();
      const bool is_repeated = point.x == before.x && point.y == before.y;
      if (is_repeated || (std::isnan(point.y) && std::isnan(before.y))) {
        continue;
      }
    }
    chart.points.push_back(point);
  }
  return chart;
}

}  // namespace kedge::store
