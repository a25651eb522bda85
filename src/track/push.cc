#include "track/push.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "core/file.h"
#include "core/log.h"
#include "core/result.h"
#include "track/checkpoint_upload.h"
#include "track/run_facts.h"
#include "track/sender.h"
#include "track/server_link.h"

namespace kedge::track {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// A server that takes long is asked less often: 1,000 runs must not hold it up.
constexpr int kRestPerWork = 20;
constexpr milliseconds kLongestRest = std::chrono::seconds(15);

}  // namespace

class Push::Impl {
 public:
  Impl(Path run, PushOptions options) : run_(std::move(run)), options_(std::move(options)) {
    thread_ = std::thread([this] { work([this] { return send(); }, is_all_sent_); });
    if (options_.checkpoints != WhichCheckpoints::None) {
      upload_thread_ =
          std::thread([this] { work([this] { return send_checkpoints(); }, is_all_uploaded_); });
    }
  }

  ~Impl() {
    stop_at(Clock::now());
    join();
  }

  void finish() {
    if (std::exchange(is_finished_, true)) {
      return;
    }
    stop_at(Clock::now() + options_.wait_at_end);
    join();
    if (!is_all_sent_) {
      say_what_is_missing();
    }
    if (options_.checkpoints != WhichCheckpoints::None && !is_all_uploaded_) {
      warn(
          "checkpoints of this run are not on {} yet; send them with: kedge sync {} --checkpoints "
          "--server {}",
          options_.server, run_.string(), options_.server);
    }
  }

 private:
  void join() {
    for (std::thread* thread : {&thread_, &upload_thread_}) {
      if (thread->joinable()) {
        thread->join();
      }
    }
  }

  void stop_at(Clock::time_point deadline) {
    {
      const std::lock_guard lock(mutex_);
      if (!is_stopping_ || deadline < deadline_) {
        deadline_ = deadline;
      }
      is_stopping_ = true;
    }
    wake_.notify_all();
  }

  // Whether the time to give up has come.
  bool is_over() {
    const std::lock_guard lock(mutex_);
    return is_stopping_ && Clock::now() >= deadline_;
  }

  // Whether the run has its last content. Asked before sending: what is sent then is all.
  bool is_complete() {
    const std::lock_guard lock(mutex_);
    return is_stopping_;
  }

  using Send = std::function<Result<void>()>;

  void work(const Send& send, std::atomic<bool>& is_all_sent) noexcept {
    try {
      loop(send, is_all_sent);
    } catch (const std::exception& exception) {  // no memory, say
      complain({ErrorKind::Io, exception.what(), ""});
    }
  }

  void loop(const Send& send, std::atomic<bool>& is_all_sent) {
    milliseconds pause = options_.every;
    while (!is_over()) {
      const bool is_last = is_complete();
      const auto begin = Clock::now();
      const auto sent = send();
      if (sent) {
        is_all_sent = is_last;
        if (is_last) {
          return;
        }
        const auto took = std::chrono::duration_cast<milliseconds>(Clock::now() - begin);
        rest(std::max(options_.every, std::min(took * kRestPerWork, kLongestRest)));
        pause = options_.every;
        continue;
      }
      complain(sent.error());
      if (is_last && sent.error().kind != ErrorKind::Unavailable) {
        return;  // waiting would not mend it
      }
      rest(std::min(with_jitter(pause), is_last ? milliseconds(500) : options_.longest_pause));
      pause = std::min(pause * 2, options_.longest_pause);
    }
  }

  Result<void> send() {
    if (!link_) {
      const ServerAddress address = KEDGE_TRY(find_server(options_.server, options_.token_file));
      link_.emplace(KEDGE_TRY(ServerLink::open(address, [this] { return is_over(); })));
      url_ = address.url;
    }
    if (!sender_) {
      sender_.emplace(KEDGE_TRY(Sender::open(run_, *link_)));
    }
    if (KEDGE_TRY(sender_->send()) || !heard_) {
      heard_ = Clock::now();
    } else if (Clock::now() - *heard_ > options_.sign_of_life) {
      KEDGE_TRY(sender_->send_sign_of_life());
      heard_ = Clock::now();
    }
    if (is_away_.exchange(false)) {
      say("track    {} is back; the run is sent on", url_);
    }
    return {};
  }

  Result<void> send_checkpoints() {
    if (!upload_link_) {
      const ServerAddress address = KEDGE_TRY(find_server(options_.server, options_.token_file));
      upload_link_.emplace(KEDGE_TRY(ServerLink::open(address, [this] { return is_over(); })));
    }
    if (!upload_) {
      upload_.emplace(run_, KEDGE_TRY(read_run_name(run_)), *upload_link_, options_.checkpoints);
    }
    return upload_->send();
  }

  // Once for each time that the server goes away, so that a night without it is not a night of
  // warnings.
  void complain(const Error& error) {
    if (error.kind == ErrorKind::Interrupted || is_away_.exchange(true)) {
      return;
    }
    warn("the run is not sent for now: {}; it goes on, and so do the tries{}{}", error.message,
         error.hint.empty() ? "" : "; ", error.hint);
  }

  void say_what_is_missing() const {
    const std::uint64_t count = sender_ ? sender_->count_unsent() : 0;
    warn("{} not on {} yet; send it with: kedge sync {} --server {}",
         count > 0 ? fmt::format("{} records of this run are", count) : "this run is",
         options_.server, run_.string(), options_.server);
  }

  void rest(milliseconds time) {
    std::unique_lock lock(mutex_);
    const auto until = Clock::now() + time;
    const bool was_stopping = is_stopping_;
    wake_.wait_until(lock, was_stopping ? std::min(until, deadline_) : until,
                     [&] { return is_stopping_ != was_stopping; });
  }

  // Of many runs that lost one server, not all shall come back in the same moment.
  static milliseconds with_jitter(milliseconds pause) {
    thread_local std::mt19937 random{std::random_device{}()};
    std::uniform_real_distribution<double> factor(0.75, 1.25);
    return milliseconds(
        static_cast<std::int64_t>(static_cast<double>(pause.count()) * factor(random)));
  }

  Path run_;
  PushOptions options_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool is_stopping_ = false;
  Clock::time_point deadline_;
  bool is_finished_ = false;
  std::atomic<bool> is_all_sent_ = false;
  std::atomic<bool> is_all_uploaded_ = false;
  std::atomic<bool> is_away_ = false;

  // Only the thread uses these, and others after it has ended.
  std::string url_;
  std::optional<ServerLink> link_;
  std::optional<Sender> sender_;
  std::optional<Clock::time_point> heard_;
  std::thread thread_;

  // The same for the checkpoints' thread.
  std::optional<ServerLink> upload_link_;
  std::optional<CheckpointUpload> upload_;
  std::thread upload_thread_;
};

Push::Push(Path run, PushOptions options)
    : impl_(std::make_unique<Impl>(std::move(run), std::move(options))) {}

Push::~Push() = default;

void Push::finish() noexcept {
  try {
    impl_->finish();
  } catch (const std::exception&) {
    return;  // the thread could not be waited for; the files are there
  }
}

}  // namespace kedge::track
