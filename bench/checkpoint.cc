// Saves and loads a training's state as kedge does: weights and two moments of the given number of
// parameters. Prints one JSON object; bench/checkpoint_vs_torch.py runs it beside PyTorch.
//   bench_checkpoint FOLDER [MILLION_PARAMETERS]
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <torch/types.h>

#include "checkpoint/library.h"
#include "checkpoint/saver.h"
#include "core/result.h"
#include "train/internal/restore.h"
#include "train/internal/staging.h"

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

kedge::nn::NamedTensors make_tensors(const std::string& prefix, std::int64_t count) {
  constexpr std::int64_t kRows = 1024;
  constexpr std::int64_t kColumns = 1024;
  kedge::nn::NamedTensors tensors;
  for (std::int64_t i = 0; i < count; ++i) {
    tensors.emplace_back(fmt::format("{}layer{}.weight", prefix, i), at::randn({kRows, kColumns}));
  }
  return tensors;
}

kedge::Result<void> measure(const kedge::Path& folder, std::int64_t tensors) {
  std::vector<kedge::train::TensorGroup> groups = {
      {"model", make_tensors("", tensors)}, {"optimizer", make_tensors("exp_avg.", tensors)}};
  for (auto& named : make_tensors("exp_avg_sq.", tensors)) {
    groups[1].tensors.push_back(std::move(named));
  }
  kedge::train::Staging staging(at::kCPU);
  kedge::checkpoint::Saver saver({.folders = {.durable = folder}, .retention = {}});
  staging.copy(groups);  // the memory is allocated by the first save of a training

  const auto start = Clock::now();
  saver.start({.name = "bench",
               .parts = staging.copy(groups),
               .state = {{"step", 1}, {"epoch", 0}, {"score", nullptr}},
               .memory = nullptr});
  const double stall_s = seconds_since(start);
  saver.wait();
  const auto reports = saver.take_reports();
  if (reports.size() != 1 || !reports[0].result) {
    return kedge::fail(kedge::ErrorKind::Io, "the save failed");
  }

  const auto load = [&](bool with_verify) -> kedge::Result<double> {
    const auto load_start = Clock::now();
    const auto opened = KEDGE_TRY(kedge::checkpoint::Checkpoint::open(folder / "bench"));
    if (with_verify) {
      KEDGE_TRY(opened.verify());
    }
    for (const auto& group : groups) {
      KEDGE_TRY(kedge::train::copy_into(group.tensors, opened.part(group.name)));
    }
    return seconds_since(load_start);
  };
  static_cast<void>(KEDGE_TRY(load(false)));  // into the page cache, for both
  const double load_s = KEDGE_TRY(load(false));
  const double verified_s = KEDGE_TRY(load(true));
  fmt::print(
      R"({{"stall_s": {}, "write_s": {}, "verify_s": {}, "load_s": {}, "load_verified_s": {}, )"
      R"("bytes": {}}})"
      "\n",
      stall_s, reports[0].write_s, reports[0].verify_s, load_s, verified_s, reports[0].bytes);
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: bench_checkpoint FOLDER [MILLION_PARAMETERS]\n");
    return kedge::kExitUsage;
  }
  const auto done = measure(argv[1], argc > 2 ? std::atoll(argv[2]) : 50);
  return done ? kedge::kExitDone : kedge::report(done.error());
}
