// How often somebody may do something: so many at once, and then so many a second.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

namespace kedge::server {

class RateLimit {
 public:
  RateLimit(double per_second, double burst) : per_second_(per_second), burst_(burst) {}

  // Counts one more of `who`; false, and counts nothing, when that is too many.
  bool take(const std::string& who, std::int64_t now_us) {
    // Names and addresses are free for an attacker, our memory is not.
    constexpr std::size_t kMaxBuckets = 100'000;
    if (buckets_.size() > kMaxBuckets) {
      buckets_.clear();
    }
    Bucket& bucket = buckets_.try_emplace(who, Bucket{burst_, now_us}).first->second;
    const double seconds = static_cast<double>(now_us - bucket.time_us) * 1e-6;
    bucket = {std::min(burst_, bucket.left + per_second_ * seconds), now_us};
    if (bucket.left < 1) {
      return false;
    }
    bucket.left -= 1;
    return true;
  }

 private:
  struct Bucket {
    double left = 0;
    std::int64_t time_us = 0;
  };

  double per_second_;
  double burst_;
  std::map<std::string, Bucket> buckets_ = {};
};

}  // namespace kedge::server
