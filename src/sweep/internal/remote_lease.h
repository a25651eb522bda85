// A trial of a server's sweep, held: a sign of life every few seconds, on a thread and a connection
// of its own.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "core/result.h"
#include "sweep/sweep.h"
#include "track/attempt.h"
#include "track/server_link.h"

namespace kedge::sweep {

class RemoteLease : public Lease {
 public:
  struct Terms {
    track::ServerAddress address;
    std::string path;  // of the trial on the server
    std::string agent;
    int attempts = 1;
    double spent_s = 0;
  };

  RemoteLease(Terms terms, track::Attempt attempt);
  ~RemoteLease() override;

  int number() const override { return terms_.attempts; }

  bool is_lost() const override {
    return is_lost_.load(std::memory_order_relaxed) || attempt_.is_lost();
  }

  double spent_before_s() const override { return terms_.spent_s; }

  Result<void> end(track::RunState state) override;

 private:
  void beat();
  void stop();

  Terms terms_;
  track::Attempt attempt_;
  std::atomic<bool> is_lost_ = false;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool is_stopping_ = false;
  std::thread thread_;  // last: it starts when all else is there
};

}  // namespace kedge::sweep
