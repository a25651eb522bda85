#include "http/internal/workers.h"

#include <utility>

namespace kedge::http {

Workers::Workers(int threads, std::size_t max_waiting) : max_waiting_(max_waiting) {
  for (int i = 0; i < threads; ++i) {
    threads_.emplace_back([this] { run(); });
  }
}

Workers::~Workers() {
  {
    const std::scoped_lock lock(mutex_);
    is_stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

bool Workers::submit(std::function<void()> work) {
  {
    const std::scoped_lock lock(mutex_);
    if (waiting_.size() >= max_waiting_ || is_stopping_) {
      return false;
    }
    waiting_.push_back(std::move(work));
  }
  changed_.notify_one();
  return true;
}

void Workers::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return is_stopping_ || !waiting_.empty(); });
    if (waiting_.empty()) {
      return;
    }
    auto work = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    work();
    work = nullptr;  // what it holds is let go before the lock is taken
    lock.lock();
  }
}

}  // namespace kedge::http
