// How long does Run::log keep the trainer? Prints percentiles for calls paced as a training loop
// would make them and for calls without a pause, where the ring overflows.
//   bench_log_call [FOLDER [--freeze]]
// --freeze stops the file system of FOLDER, which must be one of its own, while it measures again:
// a disk that takes nothing, and a ring that is full after 8192 calls. log_call.sh makes one.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "core/file.h"
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

// Every write to a frozen file system waits until it is thawed.
class Freeze {
 public:
  explicit Freeze(const kedge::Path& folder)
      : fd_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
        is_frozen_(is_own(folder) && ::ioctl(fd_.get(), FIFREEZE, 0) == 0) {}

  Freeze(const Freeze&) = delete;
  Freeze& operator=(const Freeze&) = delete;

  ~Freeze() {
    if (is_frozen_) {
      ::ioctl(fd_.get(), FITHAW, 0);
    }
  }

  bool is_frozen() const { return is_frozen_; }

 private:
  // Freezing the machine's own file system would stop the machine.
  static bool is_own(const kedge::Path& folder) {
    struct stat own{};
    struct stat root{};
    struct stat temporary{};
    return ::stat(folder.c_str(), &own) == 0 && ::stat("/", &root) == 0 &&
           ::stat("/tmp", &temporary) == 0 && own.st_dev != root.st_dev &&
           own.st_dev != temporary.st_dev;
  }

  kedge::OwnedFd fd_;
  bool is_frozen_;
};

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
  if (argc > 2 && std::string_view(argv[2]) == "--freeze") {
    const Freeze freeze(start.dir);
    if (!freeze.is_frozen()) {
      return kedge::report({kedge::ErrorKind::Usage, "cannot freeze " + start.dir.string(), ""});
    }
    measure(**run, "disk frozen, ring full, 3 scalars every 20 us", std::chrono::microseconds(20));
    measure(**run, "disk frozen, ring full, without a pause", std::chrono::nanoseconds(0));
  }
  (*run)->finish(kedge::track::RunState::Finished, {});
  return 0;
}
