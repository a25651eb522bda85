#include "track/attempt.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "core/file.h"
#include "core/result.h"
#include "core/time_text.h"
#include "track/internal/attempt_file.h"
#include "track/internal/holder_watch.h"
#include "track/internal/identity.h"

namespace kedge::track {
namespace {

constexpr double kStaleClaim_s = 3600;

AttemptFacts facts_of(int number, const std::optional<AttemptFile>& file, double modified_s) {
  AttemptFacts facts;
  facts.number = number;
  facts.heartbeat_s = modified_s;
  if (!file) {
    return facts;
  }
  facts.host = file->process.host;
  facts.pid = file->process.pid;
  facts.user = file->process.user;
  facts.job = file->process.job;
  facts.version = file->version;
  facts.started = file->started;
  facts.ended = file->ended;
  facts.state = file->state;
  facts.from_step = file->from_step;
  facts.changes = file->changes;
  const double end_s = file->ended.empty() ? modified_s : parse_utc(file->ended).value_or(0);
  facts.seconds = std::max(0.0, end_s - parse_utc(file->started).value_or(end_s));
  return facts;
}

Error held_error(const Path& run, const HolderWatch& watch) {
  return {ErrorKind::Unavailable,
          fmt::format("run {} is held by {}", run.string(), watch.describe()),
          "wait until it ends or stop it; or start a new run with another run.id"};
}

}  // namespace

std::string_view name_of(RunState state) {
  constexpr std::array<std::string_view, 4> kNames = {"running", "finished", "failed",
                                                      "interrupted"};
  return kNames[static_cast<std::size_t>(state)];
}

class Attempt::Impl {
 public:
  Impl(Path run, int number, AttemptFile file, std::chrono::milliseconds every)
      : run_(std::move(run)),
        number_(number),
        path_(attempt_path(run_, number)),
        file_(std::move(file)),
        every_(every),
        thread_([this] { beat(); }) {}

  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  ~Impl() {
    if (file_.ended.empty()) {
      // A file that cannot be written says the same: no end and no sign of life.
      static_cast<void>(end("killed"));
    }
  }

  Result<void> confirm() {
    const auto numbers = KEDGE_TRY(list_attempt_numbers(run_));
    if (!numbers.empty() && numbers.back() > number_) {
      is_lost_.store(true, std::memory_order_relaxed);
    }
    if (is_lost_.load(std::memory_order_relaxed)) {
      return fail(ErrorKind::Unavailable,
                  fmt::format("attempt {} has lost run {}: another process took it", number_,
                              run_.string()),
                  "it was silent for too long; the newer attempt goes on");
    }
    return {};
  }

  Result<void> set_facts(std::int64_t from_step, const std::vector<ConfigChange>& changes) {
    file_.from_step = from_step;
    file_.changes = changes;
    return write_file_atomic(path_, render_attempt(file_));
  }

  Result<void> end(std::string_view state) {
    stop();
    file_.state = state;
    file_.ended = utc_now();
    return write_file_atomic(path_, render_attempt(file_));
  }

  int number() const { return number_; }

  const Path& run() const { return run_; }

  bool is_lost() const { return is_lost_.load(std::memory_order_relaxed); }

 private:
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      is_stopping_ = true;
    }
    wake_.notify_all();
    if (thread_.joinable()) {
      thread_.join();
    }
  }

  void beat() {
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, every_, [this] { return is_stopping_; })) {
      lock.unlock();
      // The server's clock, because a null time means "now" there. A disk that refuses is tried
      // again; until then the silence is what others see.
      ::utimensat(AT_FDCWD, path_.c_str(), nullptr, 0);
      static_cast<void>(confirm());
      lock.lock();
    }
  }

  Path run_;
  int number_;
  Path path_;
  AttemptFile file_;
  std::chrono::milliseconds every_;
  std::atomic<bool> is_lost_ = false;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool is_stopping_ = false;
  std::thread thread_;  // last: it starts when all else is there
};

Attempt::Attempt(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Attempt::Attempt(Attempt&&) noexcept = default;
Attempt& Attempt::operator=(Attempt&&) noexcept = default;
Attempt::~Attempt() = default;

Result<Attempt> Attempt::take(const Path& run, const TakeOptions& options) {
  KEDGE_TRY(make_dirs(run / "attempts"));
  AttemptFile file;
  file.process = identify_this_process();
  file.version = KEDGE_VERSION;
  file.state = name_of(RunState::Running);
  for (;;) {
    HolderWatch watch = KEDGE_TRY(HolderWatch::begin(run, file.process));
    KEDGE_TRY(resolve_holders({&watch, 1}, options));
    if (watch.life() == Life::Alive) {
      return std::unexpected(held_error(run, watch));
    }
    const int number = watch.number() + 1;
    file.started = utc_now();
    if (KEDGE_TRY(claim_attempt(run, number, render_attempt(file)))) {
      remove_stale_claims(run, kStaleClaim_s);
      return Attempt(std::make_unique<Impl>(run, number, file, options.heartbeat_every));
    }
  }
}

int Attempt::number() const {
  return impl_->number();
}

const Path& Attempt::run() const {
  return impl_->run();
}

bool Attempt::is_lost() const {
  return impl_->is_lost();
}

Result<void> Attempt::confirm() {
  return impl_->confirm();
}

Result<void> Attempt::set_facts(std::int64_t from_step, const std::vector<ConfigChange>& changes) {
  return impl_->set_facts(from_step, changes);
}

Result<void> Attempt::end(RunState state) {
  return impl_->end(name_of(state));
}

std::vector<AttemptFacts> list_attempts(const Path& run) {
  std::vector<AttemptFacts> list;
  const auto numbers = list_attempt_numbers(run);
  if (!numbers || numbers->empty()) {
    return list;
  }
  const ProcessIdentity here = identify_this_process();
  const double now_s =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  for (const int number : *numbers) {
    const Path path = attempt_path(run, number);
    const auto file = read_attempt(path);
    AttemptFacts facts = facts_of(number, file, find_modified_s(path).value_or(0));
    if (facts.ended.empty()) {
      const Life life = file ? judge_life(file->process, here) : Life::Unknown;
      const bool is_silent =
          now_s - facts.heartbeat_s > std::chrono::duration<double>(kDeadAfter).count();
      const bool is_alive = life == Life::Alive || (life == Life::Unknown && !is_silent);
      facts.state = number == numbers->back() && is_alive ? "running" : "killed";
    }
    list.push_back(std::move(facts));
  }
  return list;
}

Result<std::optional<AttemptFacts>> find_live_holder(const Path& run, const TakeOptions& options) {
  HolderWatch watch = KEDGE_TRY(HolderWatch::begin(run, identify_this_process()));
  KEDGE_TRY(resolve_holders({&watch, 1}, options));
  if (watch.life() != Life::Alive) {
    return std::nullopt;
  }
  const Path path = attempt_path(run, watch.number());
  AttemptFacts facts =
      facts_of(watch.number(), read_attempt(path), find_modified_s(path).value_or(0));
  facts.state = "running";
  return facts;
}

}  // namespace kedge::track
