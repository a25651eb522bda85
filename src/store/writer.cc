#include "store/writer.h"

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
#include "store/database.h"

namespace kedge::store {
namespace {

// A bound on how long the first job of a transaction waits for the last.
constexpr std::size_t kMaxJobs = 512;

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
  wake_.notify_one();
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

void Writer::serve() {
  for (;;) {
    std::vector<Job> jobs;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return is_stopping_ || !waiting_.empty(); });
      if (waiting_.empty()) {
        return;
      }
      const auto count = static_cast<std::ptrdiff_t>(std::min(waiting_.size(), kMaxJobs));
      jobs.assign(std::make_move_iterator(waiting_.begin()),
                  std::make_move_iterator(waiting_.begin() + count));
      waiting_.erase(waiting_.begin(), waiting_.begin() + count);
      for (const Job& job : jobs) {
        waiting_bytes_ -= job.bytes;
      }
    }
    commit_all(std::move(jobs));
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
  for (std::size_t i = 0; i < jobs.size();) {
    bool must_begin_again = false;
    Result<void> done = run_job(jobs[i], must_begin_again);
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

Result<void> Writer::run_job(Job& job, bool& must_begin_again) {
  KEDGE_TRY(database_->run("SAVEPOINT job"));
  const std::uint64_t changes_before = hooks_.change_count();
  Result<void> done = guarded([&] { return job.work(*database_); });
  if (done) {
    return database_->run("RELEASE SAVEPOINT job");
  }
  // The savepoint takes back rows, not memory.
  must_begin_again = hooks_.change_count() != changes_before;
  if (!must_begin_again) {
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
