// Independent pieces of work on all cores.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace kedge::data {

// Calls work(i) for each i below `count`; `make_work` makes one for each thread, which keeps what a
// thread needs. Returns when all is done.
template <typename MakeWork>
void in_parallel(std::size_t count, const MakeWork& make_work) {
  std::atomic<std::size_t> next = 0;
  const auto run = [&] {
    auto work = make_work();
    for (std::size_t i = next++; i < count; i = next++) {
      work(i);
    }
  };
  std::vector<std::jthread> threads;
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  for (std::size_t i = 1; i < std::min(cores, count); ++i) {
    threads.emplace_back(run);
  }
  run();
}

}  // namespace kedge::data
