// How long does Run::log keep the trainer? Prints percentiles for calls paced as a training loop
// would make them and for calls without a pause, where the ring overflows.
//   bench_log_call [FOLDER]
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/result.h"
#include "core/scratch_folder.h"
#include "track/run.h"

namespace {

using Clock = std::chrono::steady_clock;

void measure(kedge::track::Run& run, std::string_view what, std::chrono::nanoseconds pause) {
  constexpr std::size_t kCalls = 200'000;
  std::vector<std::int64_t> times_ns;
  times_ns.reserve(kCalls);
  for (std::size_t i = 0; i < kCalls; ++i) {
    const std::array<kedge::track::Scalar, 3> scalars = {
        {{"train/loss", 1.0 / static_cast<double>(i + 1)}, {"train/lr", 1e-3}, {"grad/norm", 0.5}}};
    const auto begin = Clock::now();
    run.log(static_cast<std::int64_t>(i), scalars);
    const auto end = Clock::now();
    times_ns.push_back(std::chrono::duration_cast<std::chrono::nanoseconds>(end - begin).count());
    while (Clock::now() - end < pause) {
    }
  }
  std::ranges::sort(times_ns);
  fmt::print("{}: p50 {} ns, p99 {} ns, p99.9 {} ns, max {} ns\n", what, times_ns[kCalls / 2],
             times_ns[kCalls * 99 / 100], times_ns[kCalls * 999 / 1000], times_ns.back());
}

}  // namespace

int main(int argc, char** argv) {
  const kedge::ScratchFolder scratch;
  kedge::track::RunStart start;
  start.dir = argc > 1 ? kedge::Path(argv[1]) : scratch.path();
  auto run = kedge::track::Run::create(start);
  if (!run) {
    return kedge::report(run.error());
  }
  measure(**run, "3 scalars every 20 us", std::chrono::microseconds(20));
  measure(**run, "3 scalars without a pause", std::chrono::nanoseconds(0));
  (*run)->finish(kedge::track::RunState::Finished, {});
  return 0;
}
