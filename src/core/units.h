// Sizes and durations as people write them ("8GiB", "2h30m", "01:00:00") and read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/result.h"

namespace kedge {

struct Bytes {
  std::uint64_t value = 0;
  bool operator==(const Bytes&) const = default;
};

struct Seconds {
  double value = 0;
  bool operator==(const Seconds&) const = default;
};

// "512", "64MB", "1.5 GiB", "4G": k, M, G, T are powers of 1000 unless an i follows.
Result<Bytes> parse_bytes(std::string_view text);
std::string render_bytes(Bytes bytes);  // "1.5 GiB"

// "90", "90s", "15m", "2h30m", "1d", "HH:MM:SS", "D-HH:MM:SS" (Slurm's form).
Result<Seconds> parse_seconds(std::string_view text);
std::string render_seconds(Seconds seconds);  // "2h30m", "4.2s", "310ms"

// "12.4k", "3.1M"; below a thousand as it is.
std::string render_count(double count);

// "11,173,962".
std::string render_grouped(std::uint64_t number);

}  // namespace kedge
