// A few threads that run handlers, in the order they came.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace kedge::http {

class Workers {
 public:
  Workers(int threads, std::size_t max_waiting);
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  ~Workers();  // after what waits has run

  // False: too much waits already, and it will not run.
  bool submit(std::function<void()> work);

 private:
  void run();

  std::size_t max_waiting_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  bool is_stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace kedge::http
