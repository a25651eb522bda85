// How small are metric chunks, and how fast are they unpacked? Beside what they replace: the same
// three columns, one after the other, through zstd alone.
//   ninja -C build bench_chunk && build/bin/bench_chunk
#include "store/chunk.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <zstd.h>

#include "core/random.h"
#include "core/result.h"

namespace {

using namespace kedge::store;

constexpr std::size_t kPoints = 4096;
constexpr int kRounds = 200;

// The fastest of many rounds: the machine is shared, and noise only adds.
double seconds(const std::function<void()>& work) {
  double best = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    best = std::min(best, taken.count());
  }
  return best;
}

Points curve(const std::function<double(double loss, double step)>& value) {
  kedge::Random random(7);
  Points points;
  std::int64_t time_us = 1'795'000'000'000'000;
  for (std::size_t i = 0; i < kPoints; ++i) {
    const auto step = static_cast<double>(i);
    const double noise = random.uniform() + random.uniform() - 1;
    const double loss = 2.3 / (1 + 0.001 * step) * (1 + 0.05 * noise);
    time_us += 200'000 + static_cast<std::int64_t>(random.below(3000));
    points.add({static_cast<std::int64_t>(i) * 10, time_us, value(loss, step)});
  }
  return points;
}

std::string plain_columns(const Points& points) {
  std::string bytes(3 * kPoints * 8, '\0');
  std::memcpy(bytes.data(), points.steps.data(), kPoints * 8);
  std::memcpy(bytes.data() + kPoints * 8, points.times_us.data(), kPoints * 8);
  std::memcpy(bytes.data() + 2 * kPoints * 8, points.values.data(), kPoints * 8);
  return bytes;
}

void measure(const char* name, const Points& points) {
  const auto rate = [](double taken) { return static_cast<double>(kPoints) / taken / 1e6; };
  const auto per_point = [](std::size_t size) { return static_cast<double>(size) / kPoints; };
  std::string chunk;
  const double encode = seconds([&] { chunk = encode_chunk(points); });
  Points back;
  const double decode = seconds([&] {
    back.clear();
    KEDGE_CHECK(decode_chunk_onto(chunk, ChunkColumns::All, back), "a chunk decodes");
  });

  const std::string plain = plain_columns(points);
  std::string packed(ZSTD_compressBound(plain.size()), '\0');
  std::size_t size = 0;
  const double zip = seconds(
      [&] { size = ZSTD_compress(packed.data(), packed.size(), plain.data(), plain.size(), 3); });
  std::string unpacked(plain.size(), '\0');
  const double unzip =
      seconds([&] { ZSTD_decompress(unpacked.data(), unpacked.size(), packed.data(), size); });
  fmt::print("{:<28} {:>6.2f} {:>8.1f} {:>8.1f}   {:>6.2f} {:>8.1f} {:>8.1f}\n", name,
             per_point(chunk.size()), rate(encode), rate(decode), per_point(size), rate(zip),
             rate(unzip));
}

}  // namespace

int main() {
  fmt::print("{:<28} {:>24}   {:>24}\n{:<28} {:>6} {:>8} {:>8}   {:>6} {:>8} {:>8}\n", "", "chunk",
             "zstd alone", "curve", "B/pt", "M/s in", "M/s out", "B/pt", "M/s in", "M/s out");
  measure("loss, float32", curve([](double loss, double) { return static_cast<float>(loss); }));
  measure("loss, float64", curve([](double loss, double) { return loss; }));
  measure("loss, four decimals",
          curve([](double loss, double) { return std::round(loss * 1e4) / 1e4; }));
  measure("cosine learning rate",
          curve([](double, double step) { return 0.1 * (1 + std::cos(step / 4096 * 3.14159)); }));
  measure("constant", curve([](double, double) { return 1e-3; }));
  return 0;
}
