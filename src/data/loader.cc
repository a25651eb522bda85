#include "data/loader.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <new>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <utility>

#include "data/internal/batch_maker.h"

namespace kedge::data {

namespace {

// The kernel promises more than it has, and ends the process that then takes it: for what is large,
// what it has is asked first.
bool is_there(std::size_t size_bytes) {
  constexpr std::size_t kLarge = 256UL << 20U;
  if (size_bytes < kLarge) {
    return true;
  }
  std::ifstream info("/proc/meminfo");
  std::string name;
  std::uint64_t kibibytes = 0;
  for (std::string line; std::getline(info, line);) {
    std::istringstream words(line);
    if (words >> name >> kibibytes && name == "MemAvailable:") {
      return size_bytes / 1024 < kibibytes;
    }
  }
  return true;
}

}  // namespace

Buffer allocate_plain(std::size_t size_bytes) {
  if (!is_there(size_bytes)) {
    return nullptr;
  }
  // Shared by contract: tensors made from a batch hold it. Not make_shared, which would zero it.
  return {new (std::nothrow) std::uint8_t[size_bytes], std::default_delete<std::uint8_t[]>()};
}

// Workers take batches in turn, part by part where a batch is worth splitting, and put each into
// its slot of a ring; next() takes the slots in order. Whoever brings the last part joins them. A
// new epoch starts a new generation, and what older workers bring is dropped.
class Loader::Impl {
 public:
  Impl(const Dataset& dataset, const Pipeline& pipeline, LoaderOptions options)
      : maker_(dataset, pipeline, std::move(options)),
        scratch_({.jpeg = maker_.options().jpeg}),
        slots_(static_cast<std::size_t>(std::max<std::int64_t>(1, maker_.options().prefetch))) {
    for (std::int64_t i = 0; i < maker_.options().workers; ++i) {
      workers_.emplace_back([this] { work(); });
    }
  }

  ~Impl() {
    {
      const std::lock_guard lock(mutex_);
      is_stopping_ = true;
    }
    has_work_.notify_all();
    for (std::thread& worker : workers_) {
      worker.join();
    }
  }

  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  std::int64_t batches_per_epoch() const { return maker_.batches_per_epoch(start_); }

  void start_epoch(std::int64_t epoch, std::int64_t first_batch, std::int64_t first_position) {
    KEDGE_CHECK(epoch >= 0 && first_batch >= 0, "epochs and batches count from 0");
    {
      const std::lock_guard lock(mutex_);
      ++generation_;
      epoch_ = epoch;
      start_ = first_position < 0 ? EpochStart{} : EpochStart{first_batch, first_position};
      next_to_make_ = first_batch;
      next_part_ = 0;
      next_to_give_ = first_batch;
      end_ = std::max(first_batch, batches_per_epoch());
      for (Slot& slot : slots_) {
        slot = Slot();
      }
      wait_s_ = 0;
    }
    has_work_.notify_all();
  }

  Result<std::unique_ptr<Batch>> next() {
    KEDGE_TRY(maker_.check());
    const auto start = std::chrono::steady_clock::now();
    auto batch = workers_.empty() ? make_next() : wait_for_next();
    wait_s_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return batch;
  }

  double wait_s() const { return wait_s_; }

 private:
  struct Slot {
    std::vector<MadeBatch> parts;
    std::int64_t missing = 0;  // parts that are being made, or not yet begun
    std::optional<MadeBatch> batch;
  };

  MadeBatch make_next() {
    if (next_to_give_ >= end_) {
      return nullptr;
    }
    return maker_.make({.epoch = epoch_, .number = next_to_give_++, .start = start_}, scratch_);
  }

  MadeBatch wait_for_next() {
    std::unique_lock lock(mutex_);
    if (next_to_give_ >= end_) {
      return nullptr;
    }
    std::optional<MadeBatch>& slot = slot_of(next_to_give_).batch;
    has_batch_.wait(lock, [&] { return slot.has_value(); });
    MadeBatch batch = *std::exchange(slot, std::nullopt);
    ++next_to_give_;
    lock.unlock();
    if (maker_.parts() == 1) {
      has_work_.notify_one();
    } else {
      has_work_.notify_all();
    }
    return batch;
  }

  Slot& slot_of(std::int64_t number) {
    return slots_[static_cast<std::size_t>(number) % slots_.size()];
  }

  bool can_make() const {
    return next_to_make_ < end_ &&
           next_to_make_ < next_to_give_ + static_cast<std::int64_t>(slots_.size());
  }

  void work() {
    Sample scratch{.jpeg = maker_.options().jpeg};
    std::unique_lock lock(mutex_);
    for (;;) {
      has_work_.wait(lock, [this] { return is_stopping_ || can_make(); });
      if (is_stopping_) {
        return;
      }
      const BatchPlace place = take_part();
      const std::int64_t generation = generation_;
      lock.unlock();
      MadeBatch part = maker_.make(place, scratch);
      lock.lock();
      if (generation == generation_) {
        put(place, std::move(part), lock);
      }
    }
  }

  BatchPlace take_part() {
    const BatchPlace place{
        .epoch = epoch_, .number = next_to_make_, .start = start_, .part = next_part_};
    if (next_part_ == 0) {
      Slot& slot = slot_of(place.number);
      slot.missing = maker_.parts();
      slot.parts.resize(static_cast<std::size_t>(slot.missing));
    }
    if (++next_part_ == maker_.parts()) {
      next_part_ = 0;
      ++next_to_make_;
    }
    return place;
  }

  void put(const BatchPlace& place, MadeBatch part, std::unique_lock<std::mutex>& lock) {
    Slot& slot = slot_of(place.number);
    slot.parts[static_cast<std::size_t>(place.part)] = std::move(part);
    if (--slot.missing > 0) {
      return;
    }
    std::vector<MadeBatch> parts = std::exchange(slot.parts, {});
    const std::int64_t generation = generation_;
    lock.unlock();
    MadeBatch batch = maker_.join(std::move(parts));
    lock.lock();
    if (generation == generation_) {
      slot.batch = std::move(batch);
      has_batch_.notify_one();
    }
  }

  const BatchMaker maker_;
  Sample scratch_;  // for batches made in next()

  std::mutex mutex_;
  std::condition_variable has_work_;
  std::condition_variable has_batch_;
  std::vector<Slot> slots_;
  bool is_stopping_ = false;
  std::int64_t generation_ = 0;
  std::int64_t epoch_ = 0;
  EpochStart start_;  // of the epoch, where it goes on with batches of another size
  std::int64_t next_to_make_ = 0;
  std::int64_t next_part_ = 0;  // of it
  std::int64_t next_to_give_ = 0;
  std::int64_t end_ = 0;

  double wait_s_ = 0;
  std::vector<std::thread> workers_;  // last: they use all of the above
};

Loader::Loader(const Dataset& dataset, const Pipeline& pipeline, LoaderOptions options)
    : impl_(std::make_unique<Impl>(dataset, pipeline, std::move(options))) {}

Loader::~Loader() = default;

std::int64_t Loader::batches_per_epoch() const {
  return impl_->batches_per_epoch();
}

void Loader::start_epoch(std::int64_t epoch, std::int64_t first_batch,
                         std::int64_t first_position) {
  impl_->start_epoch(epoch, first_batch, first_position);
}

Result<std::unique_ptr<Batch>> Loader::next() {
  return impl_->next();
}

double Loader::wait_s() const {
  return impl_->wait_s();
}

}  // namespace kedge::data
