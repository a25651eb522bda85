#include "checkpoint/saver.h"

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <ctime>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "checkpoint/checkpoint.h"
#include "checkpoint/internal/copy_folder.h"
#include "checkpoint/internal/folder.h"
#include "checkpoint/internal/joint_save.h"
#include "checkpoint/library.h"
#include "checkpoint/storage.h"
#include "core/file.h"
#include "core/result.h"
#include "core/stopwatch.h"

namespace kedge::checkpoint {
namespace {

double thread_cpu_s() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

std::uint64_t estimate_bytes(const Save& save) {
  constexpr std::uint64_t kPerTensor = 512;  // in the header and the manifest
  std::uint64_t bytes = std::uint64_t{1} << 16U;
  for (const Part& part : save.parts) {
    for (const TensorView& tensor : part.tensors) {
      bytes += tensor.bytes.size() + kPerTensor;
    }
  }
  return bytes;
}

std::int64_t step_of(const nlohmann::json& state) {
  return state.is_object() && state.contains("step") && state["step"].is_number_integer()
             ? state["step"].get<std::int64_t>()
             : -1;
}

}  // namespace

// Two threads: the saver turns memory into a committed folder (the fast one, where there is one);
// the copier turns folders of the fast storage into durable ones.
class Saver::Impl {
 public:
  explicit Impl(SaverOptions options) : options_(std::move(options)) {
    if (!options_.writers.is_first()) {
      options_.folders.fast.clear();  // the first writer says where, and copies
      saver_ = std::thread([this] { run_saver(); });
      return;
    }
    clean_leftovers(options_.folders.durable);
    if (has_fast()) {
      clean_leftovers(options_.folders.fast);
      find_uncopied();
      copier_ = std::thread([this] { run_copier(); });
    }
    saver_ = std::thread([this] { run_saver(); });
  }

  ~Impl() {
    wait();
    {
      const std::scoped_lock lock(mutex_);
      is_stopping_ = true;
    }
    changed_.notify_all();
    saver_.join();
    if (copier_.joinable()) {
      copier_.join();
    }
  }

  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  bool is_busy() const {
    const std::scoped_lock lock(mutex_);
    return is_reading_;
  }

  void start(Save save) {
    {
      const std::scoped_lock lock(mutex_);
      KEDGE_CHECK(!is_reading_, "a save starts when the memory of the last one is free");
      is_reading_ = true;
      next_ = std::move(save);
    }
    changed_.notify_all();
  }

  std::vector<SaveReport> take_reports() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(reports_, {});
  }

  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !next_ && !saving_ && uncopied_.empty() && !copying_; });
  }

 private:
  bool has_fast() const { return !options_.folders.fast.empty(); }

  // What an earlier process committed to the fast folder only.
  void find_uncopied() {
    const auto listing = list_checkpoints(options_.folders);
    if (!listing) {
      return;
    }
    std::set<std::pair<std::string, std::int64_t>> durable;
    for (const Entry& entry : listing->entries) {
      if (!entry.is_fast) {
        durable.emplace(entry.name, entry.step);
      }
    }
    for (const Entry& entry : listing->entries) {
      if (entry.is_fast && !durable.contains({entry.name, entry.step})) {
        uncopied_.push_back(entry.name);
      }
    }
  }

  void run_saver() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return next_ || is_stopping_; });
      if (!next_) {
        return;
      }
      Save save = std::move(*next_);
      next_.reset();
      saving_ = save.name;
      lock.unlock();
      SaveReport report = options_.writers.is_first() ? save_one(save) : save_own_shards(save);
      lock.lock();
      if (report.result && !report.is_durable) {
        uncopied_.push_back(report.name);
      }
      reports_.push_back(std::move(report));
      saving_.reset();
      changed_.notify_all();
    }
  }

  // The memory is free before verification, which reads the disk. Once a save: after it, the memory
  // may be the next one's.
  void release(Save& save) {
    save.parts.clear();
    save.memory.reset();
    const std::scoped_lock lock(mutex_);
    is_reading_ = false;
  }

  SaveReport save_one(Save& save) {
    const Stopwatch watch;
    const double cpu_start = thread_cpu_s();
    SaveReport report{.name = save.name, .step = step_of(save.state)};
    Result<Path> fresh = fail(ErrorKind::Io, "");
    if (has_fast()) {
      fresh = write(save, options_.folders.fast, report);
      // Fellow writers have given up with the first try.
      if (!fresh && options_.writers.count > 1) {
        report.is_durable = false;
        release(save);
        report.result = std::unexpected(fresh.error());
        return report;
      }
      if (!fresh) {
        Error error = fresh.error();
        error.message += fmt::format("; saving straight to {}", options_.folders.durable.string());
        report.trouble.push_back(std::move(error));
      }
    }
    report.is_durable = !fresh;
    if (report.is_durable) {
      fresh = write(save, options_.folders.durable, report);
    }
    release(save);
    if (!fresh) {
      report.result = std::unexpected(fresh.error());
    } else if (report.is_durable) {
      report.result = commit(*fresh, options_.folders.durable / save.name);
    } else {
      report.result = commit_fast(*fresh, save.name);
    }
    report.write_s = watch.seconds();
    if (fresh) {
      JointSave(options_.writers, save_count_, frozen_).end(report.result, report.is_durable);
    }
    if (report.result && report.is_durable) {
      settle(options_.folders.durable / save.name, report);
    }
    report.cpu_s = thread_cpu_s() - cpu_start;
    return report;
  }

  // Of a writer that is not the first: its shards, into the folder that the first one opens.
  SaveReport save_own_shards(Save& save) {
    SaveReport report{.name = save.name, .step = step_of(save.state)};
    const Stopwatch watch;
    const auto is_durable =
        JointSave(options_.writers, ++save_count_, frozen_).write_own_shards(save, [&] {
          release(save);
        });
    report.is_durable = is_durable.value_or(false);
    report.result = is_durable ? Result<void>() : std::unexpected(is_durable.error());
    report.write_s = watch.seconds();
    return report;
  }

  // Writes the whole checkpoint beside its place and returns where.
  Result<Path> write(const Save& save, const Path& folder, SaveReport& report) {
    JointSave joint(options_.writers, ++save_count_, frozen_);
    const auto fresh = make_room(save, folder);
    if (!fresh) {
      joint.refuse(fresh.error());
      return fresh;
    }
    const auto bytes = joint.write(save, *fresh);
    if (!bytes) {
      remove_quietly(*fresh);
      joint.end(std::unexpected(bytes.error()), false);
      return std::unexpected(bytes.error());
    }
    report.bytes = *bytes;
    return fresh;
  }

  // An empty folder beside the checkpoint's place.
  static Result<Path> make_room(const Save& save, const Path& folder) {
    const Path path = folder / save.name;
    KEDGE_TRY(check_replaceable(path));
    KEDGE_TRY(make_dirs(folder));
    KEDGE_TRY(check_room(folder, estimate_bytes(save)));
    Path fresh = temporary_of(path);
    remove_quietly(fresh);
    KEDGE_TRY(make_dirs(fresh));
    return fresh;
  }

  Result<void> commit(const Path& fresh, const Path& path) {
    const std::scoped_lock lock(commit_mutex_);
    return commit_locked(fresh, path);
  }

  Result<void> commit_locked(const Path& fresh, const Path& path) {
    Result<void> done;
    if (options_.before_commit) {
      done = options_.before_commit();
    }
    if (done) {
      done = commit_folder(fresh, path);
    }
    if (!done) {
      remove_quietly(fresh);
    }
    return done;
  }

  // The copier verifies this one when it reads it.
  Result<void> commit_fast(const Path& fresh, const std::string& name) {
    {
      // A checkpoint of this name is not replaced under the copier's hands.
      std::unique_lock lock(mutex_);
      std::erase(uncopied_, name);
      changed_.wait(lock, [&] { return copying_ != name; });
    }
    const Path path = options_.folders.fast / name;
    const std::scoped_lock commit_lock(commit_mutex_);
    KEDGE_TRY(commit_locked(fresh, path));
    remove_aside(path);
    return {};
  }

  // Verifies a committed durable checkpoint; only then may older ones go.
  void settle(const Path& path, SaveReport& report) {
    if (options_.verify) {
      const Stopwatch watch;
      drop_cached_pages(path);
      const auto checkpoint = open_verified(path);
      drop_cached_pages(path);
      report.verify_s = watch.seconds();
      if (!checkpoint) {
        report.result = std::unexpected(checkpoint.error());
        if (const auto bad = set_bad_aside(path); !bad) {
          report.trouble.push_back(bad.error());
        }
        return;
      }
    }
    const std::scoped_lock lock(commit_mutex_);
    remove_aside(path);
    retain(report);
  }

  void retain(SaveReport& report) {
    const Folders durable{.durable = options_.folders.durable};
    auto listing = list_checkpoints(durable);
    if (!listing) {
      report.trouble.push_back(listing.error());
      return;
    }
    auto& entries = listing->entries;
    for (const Entry& entry : choose_expired(entries, options_.retention)) {
      if (const auto removed = remove_checkpoint(entry); removed) {
        report.removed.push_back(entry.name);
        std::erase_if(entries, [&](const Entry& other) { return other.path == entry.path; });
      } else {
        report.trouble.push_back(removed.error());
      }
    }
    const auto linked = update_links(durable.durable, entries, options_.retention.more_is_better);
    if (!linked) {
      report.trouble.push_back(linked.error());
    }
  }

  void run_copier() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return !uncopied_.empty() || is_stopping_; });
      if (uncopied_.empty()) {
        return;
      }
      copying_ = uncopied_.back();
      uncopied_.pop_back();
      lock.unlock();
      std::optional<SaveReport> report = copy_one(*copying_);
      lock.lock();
      if (report) {
        reports_.push_back(std::move(*report));
      }
      copying_.reset();
      changed_.notify_all();
    }
  }

  // Nothing when the copy would be removed again at once.
  std::optional<SaveReport> copy_one(const std::string& name) {
    const Stopwatch watch;
    const double cpu_start = thread_cpu_s();
    const Path source = options_.folders.fast / name;
    const Path target = options_.folders.durable / name;
    if (is_expired(source)) {
      clean_fast();
      return std::nullopt;
    }
    SaveReport report{.name = name, .is_durable = true};
    const auto fresh = copy(source, target, report);
    report.result = fresh ? commit(*fresh, target) : std::unexpected(fresh.error());
    report.write_s = watch.seconds();
    if (report.result) {
      settle(target, report);
    }
    if (report.result) {
      clean_fast();
    }
    report.cpu_s = thread_cpu_s() - cpu_start;
    return report;
  }

  Linkable newest_durable() const {
    const auto listing = list_checkpoints({.durable = options_.folders.durable});
    if (!listing || listing->entries.empty()) {
      return {};
    }
    const Path& path = listing->entries.back().path;
    auto manifest = read_manifest(path);
    return manifest ? Linkable{.folder = path, .shards = std::move(manifest->shards)} : Linkable{};
  }

  Result<Path> copy(const Path& source, const Path& target, SaveReport& report) {
    auto checkpoint = Checkpoint::open(source);
    if (checkpoint) {
      report.step = step_of(checkpoint->state());
      KEDGE_TRY(check_replaceable(target));
      KEDGE_TRY(make_dirs(options_.folders.durable));
      KEDGE_TRY(check_room(options_.folders.durable, checkpoint->bytes()));
      Path fresh = temporary_of(target);
      remove_quietly(fresh);
      const auto bytes = copy_folder(*checkpoint, fresh, newest_durable());
      if (bytes) {
        report.bytes = *bytes;
        return fresh;
      }
      remove_quietly(fresh);
      checkpoint = std::unexpected(bytes.error());
    }
    if (checkpoint.error().kind == ErrorKind::Corrupt) {
      if (const auto bad = set_bad_aside(source); !bad) {
        report.trouble.push_back(bad.error());
      }
    }
    return std::unexpected(checkpoint.error());
  }

  // Whether retention would remove this checkpoint of the fast folder from the durable one.
  bool is_expired(const Path& source) {
    auto listing = list_checkpoints(options_.folders);
    if (!listing) {
      return false;
    }
    auto& entries = listing->entries;
    std::erase_if(entries, [&](const Entry& e) { return e.is_fast && e.path != source; });
    return std::ranges::any_of(choose_expired(entries, options_.retention),
                               [&](const Entry& e) { return e.path == source; });
  }

  // The fast folder keeps its newest and what is not durable yet.
  void clean_fast() {
    const std::scoped_lock commit_lock(commit_mutex_);
    const auto listing = list_checkpoints({.durable = options_.folders.fast});
    if (!listing || listing->entries.empty()) {
      return;
    }
    std::set<std::string> kept = {listing->entries.back().name};
    {
      const std::scoped_lock lock(mutex_);
      kept.insert(uncopied_.begin(), uncopied_.end());
      kept.insert(saving_.value_or(""));
    }
    for (const Entry& entry : listing->entries) {
      if (!kept.contains(entry.name)) {
        // What cannot be removed now is tried again after the next copy.
        static_cast<void>(remove_checkpoint(entry));
      }
    }
  }

  SaverOptions options_;
  std::int64_t save_count_ = 0;  // of the saver's thread
  Linkable frozen_;              // of the saver's thread
  std::mutex commit_mutex_;      // one commit or removal at a time; taken before mutex_

  mutable std::mutex mutex_;  // all below
  std::condition_variable changed_;
  std::optional<Save> next_;
  bool is_reading_ = false;
  bool is_stopping_ = false;
  std::vector<std::string> uncopied_;  // names in the fast folder; the newest last, copied first
  std::optional<std::string> saving_;
  std::optional<std::string> copying_;
  std::vector<SaveReport> reports_;

  std::thread copier_;
  std::thread saver_;
};

Saver::Saver(SaverOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}

Saver::~Saver() = default;

bool Saver::is_busy() const {
  return impl_->is_busy();
}

void Saver::start(Save save) {
  impl_->start(std::move(save));
}

std::vector<SaveReport> Saver::take_reports() {
  return impl_->take_reports();
}

void Saver::wait() {
  impl_->wait();
}

}  // namespace kedge::checkpoint
