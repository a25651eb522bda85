// Carries what a trainer logs to the run's files on a thread of its own. The trainer's side writes
// into a bounded ring: no lock, no allocation for scalars, no waiting. What does not fit is counted
// and shows as the metric kedge/dropped.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <semaphore>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/file.h"
#include "core/result.h"
#include "track/event_log.h"
#include "track/internal/csv_table.h"
#include "track/internal/key_table.h"
#include "track/internal/png_image.h"
#include "track/internal/ring.h"
#include "track/run.h"

namespace kedge::track {

// For what belongs to no step of its own: the step of the last values written.
inline constexpr std::int64_t kLastStep = -1;

// Something larger than scalars. It waits in a queue; a slot of the ring keeps its place in order.
struct Item {
  enum class Kind : std::uint8_t { Event, Epoch, Console, Image };

  Kind kind = Kind::Event;
  std::string type;  // Event: the record's type
  std::int64_t step = 0;
  nlohmann::json body = {};  // Event
  std::int64_t epoch = 0;    // Epoch, with values
  std::vector<std::pair<std::string, double>> values = {};
  std::string text = {};  // Console
  Image image = {};       // Image, written to file
  Path file = {};
  std::size_t size = 0;      // roughly, in bytes
  std::int64_t time_us = 0;  // set by the recorder
};

struct RecorderFiles {
  EventLogWriter log;
  OwnedFd console;
  Path console_path;
  std::optional<CsvTable> csv;
  std::int64_t first_step = 0;  // of what is logged before any value
};

class Recorder {
 public:
  explicit Recorder(RecorderFiles files, std::size_t ring_slots = 8192);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  ~Recorder();

  void log(std::int64_t step, std::span<const Scalar> scalars) noexcept;
  void add(Item item) noexcept;

  // Waits at most so long for room before the item is dropped; false when it was.
  bool add_patiently(Item item, std::chrono::milliseconds patience) noexcept;

  // Returns when everything logged before is on the disk, or with the reason why it is not.
  Result<void> sync();

  // Writes and syncs everything logged so far and ends the thread; later calls do nothing.
  void stop() noexcept;

  void note_trouble(const Error& error) noexcept;

  std::uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

  std::uint64_t trouble_count() const { return trouble_count_.load(std::memory_order_relaxed); }

  std::string first_trouble() const;

  // Of the last values written. Only after stop().
  std::int64_t last_step() const { return last_step_; }

 private:
  static constexpr std::size_t kSlotScalars = 12;

  struct Slot {
    bool is_item = false;
    std::uint32_t count = 0;
    std::int64_t step = 0;
    std::int64_t time_us = 0;
    std::array<std::pair<const std::string*, double>, kSlotScalars> scalars;
  };

  // What callers of sync() wait for: `ticket` is answered when the ring is read to `position`.
  struct Barrier {
    std::uint64_t ticket = 0;
    std::uint64_t position = 0;
  };

  bool try_add(Item& item);
  void push_scalars(std::int64_t step, std::int64_t time_us,
                    std::span<const Scalar> scalars) noexcept;
  void wake_when_half_full(std::int64_t position) noexcept;
  void run() noexcept;
  void drain();
  void write_scalars(const Slot& slot);
  void write_item(Item item);
  void write_epoch(const Item& item);
  void write_image(const Item& item);
  void write_console(const Item& item);
  Result<void> flush_console();
  void begin_record(std::string_view type, std::int64_t step, std::int64_t time_us);
  void end_record();
  void report_dropped();
  Result<void> write_out(bool must_sync);
  Result<void> sync_all();
  Barrier read_barrier();
  void answer(const Barrier& barrier, bool is_last, const Result<void>& result);

  RecorderFiles files_;
  KeyTable keys_;
  Ring<Slot> ring_;
  std::mutex items_mutex_;  // also held while an item's slot is pushed: queue order is ring order
  std::deque<Item> items_;
  std::size_t items_bytes_ = 0;

  std::atomic<std::uint64_t> dropped_ = 0;
  std::atomic<std::uint64_t> trouble_count_ = 0;
  mutable std::mutex trouble_mutex_;
  std::string first_trouble_;

  std::mutex barrier_mutex_;
  std::condition_variable barrier_moved_;
  Barrier asked_;
  std::uint64_t answered_ = 0;
  Result<void> answer_;
  bool has_stopped_ = false;

  // Only the thread uses these.
  std::string payload_;
  std::string console_;  // lines for console.log
  std::uint64_t sequence_ = 0;
  std::int64_t last_step_ = 0;
  std::uint64_t reported_dropped_ = 0;
  std::int64_t synced_us_ = 0;

  std::atomic<bool> is_stopping_ = false;
  std::counting_semaphore<> wake_{0};
  std::thread thread_;  // last: it starts when all else is there
};

}  // namespace kedge::track
