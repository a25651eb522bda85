#include "sweep/internal/remote_lease.h"

#include <mutex>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/result.h"
#include "track/attempt.h"
#include "track/server_link.h"

namespace kedge::sweep {

RemoteLease::RemoteLease(Terms terms, track::Attempt attempt)
    : terms_(std::move(terms)), attempt_(std::move(attempt)), thread_([this] { beat(); }) {}

RemoteLease::~RemoteLease() {
  stop();
}

void RemoteLease::stop() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
}

// The result itself tells the server of the end; what stays open must be given back.
Result<void> RemoteLease::end(track::RunState state) {
  stop();
  KEDGE_TRY(attempt_.end(state));
  if (state != track::RunState::Interrupted) {
    return {};
  }
  auto link = KEDGE_TRY(track::ServerLink::open(terms_.address));
  // A server that is away will see the silence.
  const auto released = link.call("POST", terms_.path + "/release", {{"agent", terms_.agent}});
  return released || released.error().kind == ErrorKind::Unavailable
             ? Result<void>()
             : std::unexpected(released.error());
}

void RemoteLease::beat() {
  auto link = track::ServerLink::open(terms_.address, [this] {
    const std::lock_guard lock(mutex_);
    return is_stopping_;
  });
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, track::kHeartbeatEvery, [this] { return is_stopping_; })) {
    lock.unlock();
    if (link) {
      const auto answer = link->call("POST", terms_.path + "/beat", {{"agent", terms_.agent}});
      if (answer && !answer->value("is_held", true)) {
        is_lost_.store(true, std::memory_order_relaxed);
      }
    }
    lock.lock();
  }
}

}  // namespace kedge::sweep
