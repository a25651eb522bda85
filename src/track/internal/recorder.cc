#include "track/internal/recorder.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "core/file.h"
#include "core/log.h"
#include "core/result.h"
#include "track/internal/cbor.h"
#include "track/internal/png_image.h"
#include "track/internal/record_head.h"

namespace kedge::track {
namespace {

// How long a value may wait in the ring before it is in the file, and before it is on the disk.
constexpr auto kPoll = std::chrono::milliseconds(100);
constexpr std::int64_t kSyncEvery_us = 2'000'000;

// Tables and images that wait for a slow disk may take this much memory.
constexpr std::size_t kMaxItemsBytes = std::size_t{64} << 20U;

constexpr std::size_t kFlushBytes = std::size_t{1} << 20U;

std::int64_t now_us() noexcept {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

Recorder::Recorder(RecorderFiles files, std::size_t ring_slots)
    : files_(std::move(files)),
      ring_(ring_slots),
      last_step_(files_.first_step),
      thread_([this] { run(); }) {}

Recorder::~Recorder() {
  stop();
}

void Recorder::stop() noexcept {
  if (thread_.joinable()) {
    is_stopping_.store(true, std::memory_order_release);
    wake_.release();
    thread_.join();
  }
}

void Recorder::log(std::int64_t step, std::span<const Scalar> scalars) noexcept {
  const std::int64_t time_us = now_us();
  while (!scalars.empty()) {
    const std::size_t count = std::min(scalars.size(), kSlotScalars);
    push_scalars(step, time_us, scalars.first(count));
    scalars = scalars.subspan(count);
  }
}

void Recorder::push_scalars(std::int64_t step, std::int64_t time_us,
                            std::span<const Scalar> scalars) noexcept {
  if (is_stopping_.load(std::memory_order_relaxed)) {
    return;
  }
  const std::int64_t position = ring_.push([&](Slot& slot) {
    slot.is_item = false;
    slot.step = step;
    slot.time_us = time_us;
    slot.count = 0;
    for (const Scalar& scalar : scalars) {
      if (const std::string* key = keys_.find_or_add(scalar.key); key != nullptr) {
        slot.scalars[slot.count++] = {key, scalar.value};
      } else {
        dropped_.fetch_add(1, std::memory_order_relaxed);
      }
    }
  });
  if (position < 0) {
    dropped_.fetch_add(scalars.size(), std::memory_order_relaxed);
  } else {
    wake_when_half_full(position);
  }
}

// A system call once per half ring, instead of one per value.
void Recorder::wake_when_half_full(std::int64_t position) noexcept {
  if ((static_cast<std::size_t>(position) & (ring_.capacity() / 2 - 1)) == 0) {
    wake_.release();
  }
}

// False, with the item untouched, when there is no room.
bool Recorder::try_add(Item& item) {
  const std::lock_guard lock(items_mutex_);
  const std::size_t size = item.size;
  if (items_bytes_ + size > kMaxItemsBytes) {
    return false;
  }
  items_.push_back(std::move(item));
  const std::int64_t position = ring_.push([](Slot& slot) { slot.is_item = true; });
  if (position < 0) {
    item = std::move(items_.back());
    items_.pop_back();
    return false;
  }
  items_bytes_ += size;
  wake_when_half_full(position);
  return true;
}

void Recorder::add(Item item) noexcept {
  add_patiently(std::move(item), std::chrono::milliseconds(0));
}

bool Recorder::add_patiently(Item item, std::chrono::milliseconds patience) noexcept {
  item.time_us = now_us();
  const std::int64_t last_us = item.time_us + std::chrono::microseconds(patience).count();
  try {
    while (!is_stopping_.load(std::memory_order_relaxed)) {
      if (try_add(item)) {
        return true;
      }
      if (now_us() >= last_us) {
        break;
      }
      wake_.release();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (is_stopping_.load(std::memory_order_relaxed)) {
      return false;
    }
  } catch (const std::exception&) {  // no memory, or a lock the system refuses
  }
  dropped_.fetch_add(1, std::memory_order_relaxed);
  return false;
}

void Recorder::note_trouble(const Error& error) noexcept {
  if (trouble_count_.fetch_add(1, std::memory_order_relaxed) > 0) {
    return;
  }
  try {
    {
      const std::lock_guard lock(trouble_mutex_);
      first_trouble_ = error.message;
    }
    warn("{}; training goes on, but this run's log may be incomplete{}{}", error.message,
         error.hint.empty() ? "" : "; ", error.hint);
  } catch (const std::exception&) {
    return;  // the count is all that can be kept
  }
}

std::string Recorder::first_trouble() const {
  const std::lock_guard lock(trouble_mutex_);
  return first_trouble_;
}

void Recorder::run() noexcept {
  bool is_last = false;
  while (!is_last) {
    static_cast<void>(wake_.try_acquire_for(kPoll));
    is_last = is_stopping_.load(std::memory_order_acquire);
    const Barrier barrier = read_barrier();
    Result<void> result;
    try {
      drain();
      report_dropped();
      result = barrier.ticket > 0 || is_last ? sync_all() : write_out(false);
    } catch (const std::exception& exception) {
      result = fail(ErrorKind::Io, exception.what());
    }
    if (!result) {
      note_trouble(result.error());
    }
    answer(barrier, is_last, result);
  }
}

Result<void> Recorder::sync() {
  std::unique_lock lock(barrier_mutex_);
  if (has_stopped_) {
    return answer_;
  }
  const std::uint64_t ticket = ++asked_.ticket;
  asked_.position = ring_.pushed();
  wake_.release();
  barrier_moved_.wait(lock, [&] { return answered_ >= ticket || has_stopped_; });
  return answer_;
}

// A ticket of 0: nobody waits.
Recorder::Barrier Recorder::read_barrier() {
  const std::lock_guard lock(barrier_mutex_);
  return asked_.ticket > answered_ ? asked_ : Barrier{};
}

void Recorder::answer(const Barrier& barrier, bool is_last, const Result<void>& result) {
  if (barrier.ticket == 0 && !is_last) {
    return;
  }
  // The ring ends, for now, at a slot that another thread is filling: what lies behind it may be
  // what the barrier is for.
  if (ring_.popped() < barrier.position && !is_last) {
    wake_.release();
    std::this_thread::yield();
    return;
  }
  {
    const std::lock_guard lock(barrier_mutex_);
    answered_ = std::max(answered_, barrier.ticket);
    answer_ = result;
    has_stopped_ = is_last;
  }
  barrier_moved_.notify_all();
}

void Recorder::drain() {
  for (;;) {
    bool is_item = false;
    const bool got = ring_.pop([&](const Slot& slot) {
      is_item = slot.is_item;
      if (!is_item) {
        write_scalars(slot);
      }
    });
    if (!got) {
      return;
    }
    if (is_item) {
      Item item;
      {
        const std::lock_guard lock(items_mutex_);
        item = std::move(items_.front());
        items_.pop_front();
        items_bytes_ -= item.size;
      }
      write_item(std::move(item));
    }
    if (files_.log.waiting_bytes() > kFlushBytes) {
      if (const auto written = write_out(false); !written) {
        note_trouble(written.error());
      }
    }
  }
}

void Recorder::begin_record(std::string_view type, std::int64_t step, std::int64_t time_us) {
  payload_.clear();
  append_record_head(payload_,
                     {.type = type, .sequence = sequence_, .time_us = time_us, .step = step});
}

void Recorder::end_record() {
  if (files_.log.append(payload_)) {
    ++sequence_;
  } else {
    dropped_.fetch_add(1, std::memory_order_relaxed);
  }
}

void Recorder::write_scalars(const Slot& slot) {
  last_step_ = slot.step;
  begin_record("scalars", slot.step, slot.time_us);
  append_cbor_map(payload_, slot.count);
  for (std::size_t i = 0; i < slot.count; ++i) {
    append_cbor_text(payload_, *slot.scalars[i].first);
    append_cbor_double(payload_, slot.scalars[i].second);
  }
  end_record();
}

void Recorder::write_item(Item item) {
  switch (item.kind) {
    case Item::Kind::Event: {
      begin_record(item.type, item.step == kLastStep ? last_step_ : item.step, item.time_us);
      const std::vector<std::uint8_t> body = nlohmann::json::to_cbor(item.body);
      payload_.append(reinterpret_cast<const char*>(body.data()), body.size());
      end_record();
      return;
    }
    case Item::Kind::Epoch:
      write_epoch(item);
      return;
    case Item::Kind::Console:
      write_console(item);
      return;
    case Item::Kind::Image:
      write_image(item);
      return;
  }
}

void Recorder::write_epoch(const Item& item) {
  last_step_ = item.step;
  begin_record("scalars", item.step, item.time_us);
  append_cbor_map(payload_, item.values.size() + 1);
  append_cbor_text(payload_, "epoch");
  append_cbor_double(payload_, static_cast<double>(item.epoch));
  for (const auto& [key, value] : item.values) {
    append_cbor_text(payload_, key);
    append_cbor_double(payload_, value);
  }
  end_record();
  if (files_.csv) {
    if (const auto written = files_.csv->add_row(item.epoch, item.step, item.values); !written) {
      note_trouble(written.error());
    }
  }
}

void Recorder::write_console(const Item& item) {
  begin_record("console", last_step_, item.time_us);
  append_cbor_map(payload_, 1);
  append_cbor_text(payload_, "line");
  append_cbor_text(payload_, item.text);
  end_record();
  console_ += item.text;
  console_ += '\n';
}

// Lines that a full disk refuses are lost here; the event log keeps them for longer.
Result<void> Recorder::flush_console() {
  const std::string lines = std::exchange(console_, {});
  return lines.empty() ? Result<void>()
                       : write_all(files_.console.get(), lines, files_.console_path);
}

void Recorder::write_image(const Item& item) {
  const auto png = render_png(item.image);
  const auto written =
      png ? write_file_atomic(item.file, *png) : Result<void>(std::unexpected(png.error()));
  if (!written) {
    note_trouble(written.error());
    return;
  }
  begin_record("image", last_step_, item.time_us);
  const std::vector<std::uint8_t> body = nlohmann::json::to_cbor(item.body);
  payload_.append(reinterpret_cast<const char*>(body.data()), body.size());
  end_record();
}

void Recorder::report_dropped() {
  const std::uint64_t dropped = dropped_.load(std::memory_order_relaxed);
  if (dropped == reported_dropped_) {
    return;
  }
  reported_dropped_ = dropped;
  begin_record("scalars", last_step_, now_us());
  append_cbor_map(payload_, 1);
  append_cbor_text(payload_, "kedge/dropped");
  append_cbor_double(payload_, static_cast<double>(dropped));
  end_record();
}

Result<void> Recorder::write_out(bool must_sync) {
  const std::int64_t now = now_us();
  const bool is_due = must_sync || now - synced_us_ > kSyncEvery_us;
  if (is_due) {
    synced_us_ = now;
  }
  if (const auto written = flush_console(); !written) {
    note_trouble(written.error());
  }
  return is_due ? files_.log.sync() : files_.log.flush();
}

Result<void> Recorder::sync_all() {
  const Result<void> log = write_out(true);
  const Result<void> csv = files_.csv ? files_.csv->sync() : Result<void>();
  if (::fdatasync(files_.console.get()) != 0) {
    return std::unexpected(io_error("cannot sync", files_.console_path, errno));
  }
  return log ? csv : log;
}

}  // namespace kedge::track
