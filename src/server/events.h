// Tells pages what has changed, as server-sent events: at most two a second for each run, however
// often it logs. One thread of its own; nobody who changes something ever waits for a reader.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "http/http.h"
#include "store/store.h"

namespace kedge::server {

struct EventFilter {
  std::string project = {};  // empty: all
  std::string run = {};
};

class EventHub {
 public:
  EventHub();
  EventHub(const EventHub&) = delete;
  EventHub& operator=(const EventHub&) = delete;
  ~EventHub();

  // The store's listener.
  void note(std::span<const store::Change> changes);

  // Until the returned object is gone, or the reader is too slow.
  std::shared_ptr<void> subscribe(EventFilter filter, std::shared_ptr<http::PushStream> stream);

  std::size_t subscriber_count() const;

 private:
  using Clock = std::chrono::steady_clock;

  struct Subscriber {
    EventFilter filter;
    std::shared_ptr<http::PushStream> stream;
  };

  void run();
  void send(const store::Change& change);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<store::RunKey, store::Change> pending_;
  std::map<store::RunKey, Clock::time_point> sent_;
  std::vector<std::weak_ptr<Subscriber>> subscribers_;
  bool is_stopping_ = false;
  std::thread thread_;
};

// "data: {...}\n\n".
std::string render_event(const store::Change& change);

}  // namespace kedge::server
