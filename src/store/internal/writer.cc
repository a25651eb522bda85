#include "store/internal/writer.h"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <future>
#include <iterator>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.h"
#include "store/internal/database.h"

namespace kedge::store {
namespace {

// A bound on how long the first job of a transaction waits for the last.
constexpr std::size_t kMaxJobs = 512;

// What a thread that has others to serve may commit itself: some tens of microseconds.
constexpr std::size_t kMaxTurnJobs = 64;
constexpr std::size_t kMaxTurnJobBytes = 1024;

// Whose jobs wait for the end of this thread's turn.
thread_local const Writer* turn_of = nullptr;

// A thread's main must not throw: what comes out of a job is that job's failure.
template <typename Work>
Result<void> guarded(Work&& work) {
  try {
    return work();
  } catch (const std::exception& exception) {
    return fail(ErrorKind::Io, fmt::format("a change of the store failed: {}", exception.what()));
  }
}

}  // namespace

Writer::Writer(std::unique_ptr<Database> database, WriterHooks hooks, WriterLimits limits)
    : database_(std::move(database)),
      hooks_(std::move(hooks)),
      limits_(limits),
      thread_([this] { serve(); }) {}

Writer::~Writer() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void Writer::submit(Work work, Answer answer, std::size_t bytes) {
  bool is_full = false;
  {
    const std::lock_guard lock(mutex_);
    // One job larger than the limit goes through when it is alone.
    is_full = waiting_.size() >= limits_.jobs ||
              (!waiting_.empty() && waiting_bytes_ + bytes > limits_.bytes);
    if (!is_full) {
      waiting_bytes_ += bytes;
      waiting_.push_back({std::move(work), std::move(answer), bytes});
    }
  }
  if (is_full) {
    answer(fail(ErrorKind::Unavailable, "more comes in than the store can write",
                "send it again in a moment: nothing of it was taken"));
    return;
  }
  if (turn_of != this || bytes > kMaxTurnJobBytes) {
    wake_.notify_one();
  }
}

Result<void> Writer::run(Work work) {
  std::promise<Result<void>> promise;
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(
        {std::move(work), [&](Result<void> result) { promise.set_value(std::move(result)); }});
  }
  wake_.notify_one();
  return promise.get_future().get();
}

Writer::Turn::Turn(Writer& writer) : writer_(writer) {
  turn_of = &writer;
}

Writer::Turn::~Turn() {
  turn_of = nullptr;
  writer_.end_turn();
}

bool Writer::may_end_turn() const {
  return waiting_.size() <= kMaxTurnJobs && waiting_bytes_ <= kMaxTurnJobs * kMaxTurnJobBytes &&
         !has_chores_ && database_->is_near();
}

void Writer::end_turn() {
  std::vector<Job> jobs;
  {
    const std::lock_guard lock(mutex_);
    if (is_busy_ || waiting_.empty()) {
      return;  // who is at it looks again at its end
    }
    if (may_end_turn()) {
      jobs = take_jobs();
      is_busy_ = true;
    }
  }
  if (jobs.empty()) {
    wake_.notify_one();
    return;
  }
  commit_all(std::move(jobs));
  bool is_more = false;
  {
    const std::lock_guard lock(mutex_);
    is_busy_ = false;
    has_chores_ = database_->has_chores();
    is_more = !waiting_.empty() || has_chores_ || is_stopping_;
  }
  if (is_more) {
    wake_.notify_one();
  }
}

std::vector<Writer::Job> Writer::take_jobs() {
  const auto count = static_cast<std::ptrdiff_t>(std::min(waiting_.size(), kMaxJobs));
  std::vector<Job> jobs(std::make_move_iterator(waiting_.begin()),
                        std::make_move_iterator(waiting_.begin() + count));
  waiting_.erase(waiting_.begin(), waiting_.begin() + count);
  for (const Job& job : jobs) {
    waiting_bytes_ -= job.bytes;
  }
  return jobs;
}

void Writer::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock,
               [this] { return !is_busy_ && (is_stopping_ || has_chores_ || !waiting_.empty()); });
    if (waiting_.empty() && !has_chores_) {
      return;
    }
    std::vector<Job> jobs = take_jobs();
    is_busy_ = true;
    lock.unlock();
    if (!jobs.empty()) {
      commit_all(std::move(jobs));
    }
    if (database_->has_chores()) {
      // A checkpoint that fails is tried again after the next commit, which the log has room for.
      (void)database_->do_chores();
    }
    lock.lock();
    has_chores_ = false;
    is_busy_ = false;
  }
}

// A transaction that fails as a whole is tried again job by job, so that one change too large for
// the disk does not fail those that came with it.
void Writer::commit_all(std::vector<Job> jobs) {
  Result<void> result = run_jobs(jobs);
  Outcome outcome = result ? commit(result) : Outcome::RolledBack;
  if (outcome != Outcome::Committed) {
    roll_back();
  }
  if (outcome == Outcome::RolledBack && jobs.size() > 1) {
    for (Job& job : jobs) {
      std::vector<Job> one;
      one.push_back(std::move(job));
      commit_all(std::move(one));
    }
    return;
  }
  // A lost connection is opened again and the change tried once more: it was not committed.
  if (outcome == Outcome::RolledBack && jobs.size() == 1 &&
      result.error().kind == ErrorKind::Unavailable && database_->reconnect()) {
    result = run_jobs(jobs);
    outcome = result ? commit(result) : Outcome::RolledBack;
    if (outcome != Outcome::Committed) {
      roll_back();
    }
  }
  for (Job& job : jobs) {
    job.answer(result);
  }
}

// Jobs that are refused are answered and leave the list; an error is the whole transaction's.
Result<void> Writer::run_jobs(std::vector<Job>& jobs) {
  if (must_reconnect_) {
    KEDGE_TRY(database_->reconnect());
    must_reconnect_ = false;
  }
  KEDGE_TRY(database_->run("BEGIN"));
  const bool is_alone = jobs.size() == 1;
  for (std::size_t i = 0; i < jobs.size();) {
    bool must_begin_again = false;
    Result<void> done = run_job(jobs[i], is_alone, must_begin_again);
    if (done) {
      ++i;
      continue;
    }
    const bool is_refusal =
        done.error().kind == ErrorKind::Usage || done.error().kind == ErrorKind::NotFound;
    if (!is_refusal) {
      return done;
    }
    const Job refused = std::move(jobs[i]);
    jobs.erase(jobs.begin() + static_cast<std::ptrdiff_t>(i));
    if (must_begin_again) {
      roll_back();
      refused.answer(std::move(done));
      return jobs.empty() ? Result<void>(database_->run("BEGIN")) : run_jobs(jobs);
    }
    refused.answer(std::move(done));
  }
  return {};
}

Result<void> Writer::run_job(Job& job, bool is_alone, bool& must_begin_again) {
  if (!is_alone) {
    KEDGE_TRY(database_->run("SAVEPOINT job"));
  }
  const std::uint64_t changes_before = hooks_.change_count();
  Result<void> done = guarded([&] { return job.work(*database_); });
  if (done) {
    return is_alone ? done : database_->run("RELEASE SAVEPOINT job");
  }
  // The savepoint takes back rows, not memory.
  must_begin_again = hooks_.change_count() != changes_before;
  if (!must_begin_again && is_alone) {
    KEDGE_TRY(database_->run("ROLLBACK"));
    KEDGE_TRY(database_->run("BEGIN"));
  } else if (!must_begin_again) {
    KEDGE_TRY(database_->run("ROLLBACK TO SAVEPOINT job"));
    KEDGE_TRY(database_->run("RELEASE SAVEPOINT job"));
  }
  return done;
}

Writer::Outcome Writer::commit(Result<void>& result) {
  result = guarded([&] { return hooks_.flush(*database_); });
  if (!result) {
    return Outcome::RolledBack;
  }
  result = database_->run("COMMIT");
  if (!result) {
    // A connection that broke in the middle leaves the question open.
    return result.error().kind == ErrorKind::Unavailable ? Outcome::Unknown : Outcome::RolledBack;
  }
  hooks_.on_commit();
  return Outcome::Committed;
}

void Writer::roll_back() {
  // It fails where the database has rolled back by itself, or is away; in the second case the hook
  // finds out again.
  if (!database_->run("ROLLBACK") && !database_->reconnect()) {
    must_reconnect_ = true;
  }
  hooks_.on_rollback(*database_);
}

}  // namespace kedge::store
