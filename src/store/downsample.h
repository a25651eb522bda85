// A Downsampler makes few points of many for a chart: x is cut into buckets of one width, and each
// shows its least and its greatest value, so that no spike is lost at any zoom.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace kedge::store {

struct ChartPoint {
  double x = 0;
  double y = 0;
};

// A stretch of points of which only these are known: see PointsSketch.
struct ChartRange {
  std::uint64_t count = 0;
  std::uint64_t nan_count = 0;
  ChartPoint first;
  ChartPoint last;
  ChartPoint min;
  ChartPoint max;
  double nan_x = 0;  // of the first NaN, when there is one
};

struct Chart {
  std::vector<ChartPoint> points;  // in order of x
  std::uint64_t count = 0;         // of the points that were fed, within the range
  bool is_sampled = false;         // false: points holds every one of them
};

class Downsampler {
 public:
  // Points with x outside [from_x, to_x], or not finite, are passed over. Both must be finite, and
  // bucket_count at least 1.
  Downsampler(double from_x, double to_x, std::size_t bucket_count);

  // In any order, but points of one x keep the order in which they came.
  void add(double x, double y);

  // Whether all between these two x falls into one bucket: then add() of a range shows the same as
  // its points would. Where not, the caller unpacks the points.
  bool is_in_one_bucket(double first_x, double last_x) const;

  // The range must be in one bucket.
  void add(const ChartRange& range);

  // At most two points a bucket, the first and the last of all, and one NaN for each stretch of
  // them. Everything, when no more than two a bucket were fed one by one.
  Chart finish();

 private:
  struct Bucket {
    ChartPoint min{0, std::numeric_limits<double>::quiet_NaN()};
    ChartPoint max{0, std::numeric_limits<double>::quiet_NaN()};
    std::uint64_t min_order = 0;
    std::uint64_t max_order = 0;
    bool has_value = false;
    bool has_nan = false;
    double nan_x = 0;
    std::uint64_t nan_order = 0;
  };
  struct Ordered;

  bool is_in_range(double x) const;
  std::size_t bucket_of(double x) const;
  void add_to_bucket(ChartPoint point, std::uint64_t order);
  void note_ends(ChartPoint point, std::uint64_t order);
  void use_buckets();
  Chart finish_every();

  double from_x_;
  double to_x_;
  double buckets_per_x_;
  std::size_t bucket_count_;
  std::uint64_t count_ = 0;
  std::uint64_t order_ = 0;
  std::vector<ChartPoint> every_;  // until there are too many
  std::vector<Bucket> buckets_;    // from then on
  ChartPoint first_;
  ChartPoint last_;
  std::uint64_t first_order_ = 0;
  std::uint64_t last_order_ = 0;
  bool has_ends_ = false;
};

}  // namespace kedge::store
