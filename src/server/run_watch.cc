#include "server/run_watch.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "core/file.h"
#include "core/log.h"
#include "core/result.h"
#include "server/internal/watched_run.h"

namespace kedge::server {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// A run that has been quiet for a time t is looked at every t / kAgePerLook.
constexpr int kAgePerLook = 20;

// Events of one folder within this time are answered by one look.
constexpr milliseconds kEventPause{100};

// The folders in a folder; links among them are put into `links`.
std::vector<Path> list_folders(const Path& folder, std::vector<Path>& links) {
  std::vector<Path> folders;
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    std::error_code ignored;
    if (!entry->path().filename().string().starts_with('.') && entry->is_directory(ignored)) {
      (entry->is_symlink(ignored) ? links : folders).push_back(entry->path());
    }
  }
  return folders;
}

struct Entry {
  explicit Entry(Path folder) : run(std::move(folder)) {}

  WatchedRun run;
  Clock::time_point changed = Clock::now();
  Clock::time_point looked = {};
  Clock::time_point due = {};
  int event_id = -1;
  std::string trouble = {};
};

// A folder whose entries are folders of interest.
struct Parent {
  Clock::time_point listed = {};
  std::filesystem::file_time_type modified = {};
  bool is_fresh = true;
};

}  // namespace

class RunWatch::Impl {
 public:
  Impl(store::Store& store, store::BlobStore* blobs, WatchOptions options, NowUs now_us)
      : options_(std::move(options)),
        now_us_(std::move(now_us)),
        target_{store, blobs, now_us_},
        wake_(::eventfd(0, EFD_CLOEXEC)),
        events_(options_.use_inotify ? ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK) : -1),
        thread_([this] { run(); }) {}

  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  ~Impl() {
    is_stopping_ = true;
    ::eventfd_write(wake_.get(), 1);
    thread_.join();
  }

  WatchCounts counts() const { return {.runs = run_count_, .looks = looks_, .records = records_}; }

 private:
  void run() noexcept {
    while (!is_stopping_) {
      try {
        discover();
        look_at_due();
        wait();
      } catch (const std::exception& exception) {  // no memory
        warn("the watch over run folders: {}", exception.what());
        std::this_thread::sleep_for(options_.shortest);
      }
    }
  }

  // Whether names may have been added since the last time: then the caller lists it.
  bool has_news(const Path& folder) {
    Parent& parent = parents_[folder];
    std::error_code error;
    const auto modified = std::filesystem::last_write_time(folder, error);
    const auto now = Clock::now();
    // Times are coarse, and some file systems keep none: a folder is listed once more after a
    // change, and now and then.
    const bool is_changed = !error && modified != parent.modified;
    const bool is_due = is_changed || parent.is_fresh || now - parent.listed > options_.longest;
    if (is_due) {
      parent = {.listed = now, .modified = modified, .is_fresh = is_changed};
      add_event(folder, IN_CREATE | IN_MOVED_TO);
    }
    return is_due && !error;
  }

  void discover() {
    for (const Path& dir : options_.dirs) {
      if (has_news(dir)) {
        projects_[dir] = list_own_folders(dir);
      }
      for (const Path& project : projects_[dir]) {
        if (has_news(project)) {
          add_runs(project);
        }
      }
    }
    run_count_ = entries_.size();
  }

  // Whoever may write here could lead the server to folders that only the server may read.
  std::vector<Path> list_own_folders(const Path& folder) {
    std::vector<Path> links;
    std::vector<Path> folders = list_folders(folder, links);
    for (const Path& link : links) {
      if (links_.insert(link).second) {
        warn("{} is a symbolic link and is not followed; give its target to --watch",
             link.string());
      }
    }
    return folders;
  }

  void add_runs(const Path& project) {
    for (const Path& folder : list_own_folders(project)) {
      if (!entries_.contains(folder)) {
        auto entry = std::make_unique<Entry>(folder);
        due_.emplace(entry->due, entry.get());
        entries_.emplace(folder, std::move(entry));
      }
    }
  }

  void look_at_due() {
    while (!due_.empty() && due_.begin()->first <= Clock::now() && !is_stopping_) {
      Entry& entry = *due_.begin()->second;
      due_.erase(due_.begin());
      look_at(entry);
    }
  }

  void look_at(Entry& entry) {
    ++looks_;
    entry.looked = Clock::now();
    const auto look = entry.run.look(target_);
    std::error_code ignored;
    if (look) {
      records_ += look->records;
      entry.changed = look->has_changed ? entry.looked : entry.changed;
      entry.trouble.clear();
    } else if (!std::filesystem::exists(entry.run.folder(), ignored)) {
      remove_event(entry);
      const Path folder = entry.run.folder();
      entries_.erase(folder);
      return;
    } else {
      complain(entry, look.error());
    }
    follow(entry);
    const auto age = std::chrono::duration_cast<milliseconds>(entry.looked - entry.changed);
    schedule(entry,
             entry.looked + std::clamp(age / kAgePerLook, options_.shortest, options_.longest));
  }

  static void complain(Entry& entry, const Error& error) {
    // A folder without run.json is being made, or was left by a process killed while making it.
    const bool is_told = std::exchange(entry.trouble, error.message) == error.message;
    std::error_code ignored;
    if (!is_told && std::filesystem::exists(entry.run.folder() / "run.json", ignored)) {
      warn("{}: {}", entry.run.folder().string(), error.message);
    }
  }

  void schedule(Entry& entry, Clock::time_point due) {
    entry.due = due;
    due_.emplace(due, &entry);
  }

  // The kernel tells of runs that are busy; for all it may not have enough watches.
  void follow(Entry& entry) {
    if (!entry.run.is_busy()) {
      remove_event(entry);
    } else if (entry.event_id < 0) {
      entry.event_id = add_event(entry.run.folder(), IN_MODIFY | IN_CREATE | IN_MOVED_TO);
      if (entry.event_id >= 0) {
        followed_[entry.event_id] = &entry;
      }
    }
  }

  int add_event(const Path& folder, std::uint32_t mask) const {
    return events_.get() < 0 ? -1 : ::inotify_add_watch(events_.get(), folder.c_str(), mask);
  }

  void remove_event(Entry& entry) {
    if (entry.event_id >= 0) {
      ::inotify_rm_watch(events_.get(), entry.event_id);
      followed_.erase(std::exchange(entry.event_id, -1));
    }
  }

  void wait() {
    auto until = Clock::now() + options_.shortest;
    if (!due_.empty()) {
      until = std::min(until, due_.begin()->first);
    }
    std::array<pollfd, 2> fds = {pollfd{wake_.get(), POLLIN, 0}, pollfd{events_.get(), POLLIN, 0}};
    const auto left = std::chrono::ceil<milliseconds>(until - Clock::now());
    const int timeout = static_cast<int>(std::max<std::int64_t>(left.count(), 0));
    if (::poll(fds.data(), fds.size(), timeout) > 0 && fds[1].revents != 0) {
      read_events();
    }
  }

  void read_events() {
    std::array<char, 1U << 16U> buffer;
    for (;;) {
      const ssize_t count = ::read(events_.get(), buffer.data(), buffer.size());
      if (count <= 0) {
        return;
      }
      for (ssize_t at = 0; at < count;) {
        inotify_event event{};
        std::memcpy(&event, buffer.data() + at, sizeof event);
        at += static_cast<ssize_t>(sizeof event + event.len);
        hear(event.wd);
      }
    }
  }

  void hear(int event_id) {
    const auto found = followed_.find(event_id);
    if (found == followed_.end()) {
      return;  // of a parent: waking up was all that was needed
    }
    Entry& entry = *found->second;
    const auto soon = entry.looked + kEventPause;
    if (soon >= entry.due) {
      return;
    }
    const auto [begin, end] = due_.equal_range(entry.due);
    const auto place =
        std::find_if(begin, end, [&](const auto& pair) { return pair.second == &entry; });
    if (place != end) {
      due_.erase(place);
    }
    schedule(entry, soon);
  }

  WatchOptions options_;
  NowUs now_us_;
  WatchTarget target_;
  OwnedFd wake_;
  OwnedFd events_;
  std::map<Path, Parent> parents_;
  std::map<Path, std::vector<Path>> projects_;  // of each dir
  std::set<Path> links_;                        // that somebody was told of
  std::map<Path, std::unique_ptr<Entry>> entries_;
  std::multimap<Clock::time_point, Entry*> due_;  // every entry once, but for the one looked at
  std::map<int, Entry*> followed_;
  std::atomic<std::size_t> run_count_ = 0;
  std::atomic<std::uint64_t> looks_ = 0;
  std::atomic<std::uint64_t> records_ = 0;
  std::atomic<bool> is_stopping_ = false;
  std::thread thread_;  // last: it starts when all else is there
};

RunWatch::RunWatch(store::Store& store, store::BlobStore* blobs, WatchOptions options, NowUs now_us)
    : impl_(std::make_unique<Impl>(store, blobs, std::move(options), std::move(now_us))) {}

RunWatch::~RunWatch() = default;

WatchCounts RunWatch::counts() const {
  return impl_->counts();
}

}  // namespace kedge::server
