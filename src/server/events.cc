#include "server/events.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace kedge::server {
namespace {

constexpr auto kInterval = std::chrono::milliseconds(500);

struct ChangeName {
  unsigned bit;
  std::string_view name;
};

constexpr auto kNames = std::to_array<ChangeName>({
    {store::kChangedFacts, "facts"},
    {store::kChangedMetrics, "metrics"},
    {store::kChangedConsole, "console"},
    {store::kChangedRecords, "records"},
    {store::kChangedFiles, "files"},
    {store::kRunDeleted, "deleted"},
});

}  // namespace

std::string render_event(const store::Change& change) {
  nlohmann::json what = nlohmann::json::array();
  for (const ChangeName& name : kNames) {
    if ((change.what & name.bit) != 0) {
      what.push_back(name.name);
    }
  }
  nlohmann::json event = {
      {"project", change.run.project}, {"id", change.run.id}, {"what", std::move(what)}};
  if (change.last_step) {
    event["last_step"] = *change.last_step;
  }
  return fmt::format("data: {}\n\n", event.dump());
}

EventHub::EventHub() : thread_([this] { run(); }) {}

EventHub::~EventHub() {
  {
    const std::scoped_lock lock(mutex_);
    is_stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void EventHub::note(std::span<const store::Change> changes) {
  {
    const std::scoped_lock lock(mutex_);
    if (subscribers_.empty()) {
      return;
    }
    for (const store::Change& change : changes) {
      const auto [found, is_new] = pending_.try_emplace(change.run, change);
      if (!is_new) {
        found->second.what |= change.what;
        found->second.last_step = change.last_step ? change.last_step : found->second.last_step;
      }
    }
  }
  changed_.notify_all();
}

std::shared_ptr<void> EventHub::subscribe(EventFilter filter,
                                          std::shared_ptr<http::PushStream> stream) {
  auto subscriber = std::make_shared<Subscriber>(std::move(filter), std::move(stream));
  const std::scoped_lock lock(mutex_);
  std::erase_if(subscribers_, [](const auto& known) { return known.expired(); });
  subscribers_.push_back(subscriber);
  return subscriber;
}

std::size_t EventHub::subscriber_count() const {
  const std::scoped_lock lock(mutex_);
  return static_cast<std::size_t>(
      std::ranges::count_if(subscribers_, [](const auto& known) { return !known.expired(); }));
}

void EventHub::send(const store::Change& change) {
  std::shared_ptr<const std::string> text;
  std::erase_if(subscribers_, [&](const std::weak_ptr<Subscriber>& known) {
    const auto subscriber = known.lock();
    if (!subscriber) {
      return true;
    }
    const EventFilter& filter = subscriber->filter;
    if ((!filter.project.empty() && filter.project != change.run.project) ||
        (!filter.run.empty() && filter.run != change.run.id)) {
      return false;
    }
    if (!text) {
      text = std::make_shared<const std::string>(render_event(change));
    }
    return !subscriber->stream->push(text);
  });
}

void EventHub::run() {
  std::unique_lock lock(mutex_);
  while (!is_stopping_) {
    if (pending_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const auto now = Clock::now();
    auto next = now + kInterval;
    std::erase_if(sent_, [&](const auto& entry) { return entry.second + kInterval <= now; });
    for (auto entry = pending_.begin(); entry != pending_.end();) {
      const auto last = sent_.find(entry->first);
      if (last != sent_.end()) {  // too early: it waits, and grows
        next = std::min(next, last->second + kInterval);
        ++entry;
        continue;
      }
      sent_[entry->first] = now;
      send(entry->second);
      entry = pending_.erase(entry);
    }
    if (!pending_.empty()) {
      changed_.wait_until(lock, next, [this] { return is_stopping_; });
    }
  }
}

}  // namespace kedge::server
