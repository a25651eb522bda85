// The one thread that changes the database. Jobs that wait when it looks share one transaction, so
// that many small changes cost one commit; each is answered after the COMMIT.
//
// A job may leave changes in memory, which the hooks write before the COMMIT and publish after it.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "core/result.h"
#include "store/database.h"

namespace kedge::store {

struct WriterHooks {
  // Writes what jobs left in memory; an error takes the whole transaction back.
  std::function<Result<void>(Database&)> flush = [](Database&) -> Result<void> { return {}; };
  // The transaction is committed: publish what jobs left in memory.
  std::function<void()> on_commit = [] {};
  // It is not: forget it, and look at the database again where a commit may or may not have come
  // through.
  std::function<void(Database&)> on_rollback = [](Database&) {};
  // Grows with each change that a job leaves in memory.
  std::function<std::uint64_t()> change_count = [] { return 0; };
};

class Writer {
 public:
  using Work = std::function<Result<void>(Database&)>;
  using Answer = std::function<void(Result<void>)>;

  Writer(std::unique_ptr<Database> database, WriterHooks hooks);
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer();  // after everything that was submitted

  // `work` may run more than once, each time on what is committed. `answer` is called once.
  void submit(Work work, Answer answer);

  // The same, waiting. Not from the writer's own thread.
  Result<void> run(Work work);

 private:
  struct Job {
    Work work;
    Answer answer;
  };
  enum class Outcome : std::uint8_t { Committed, RolledBack, Unknown };

  void serve();
  void commit_all(std::vector<Job> jobs);
  Result<void> run_jobs(std::vector<Job>& jobs);
  Result<void> run_job(Job& job, bool& must_begin_again);
  Outcome commit(Result<void>& result);
  void roll_back();

  std::unique_ptr<Database> database_;
  WriterHooks hooks_;
  bool must_reconnect_ = false;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Job> waiting_;
  bool is_stopping_ = false;
  std::thread thread_;  // last: it starts when all else is there
};

}  // namespace kedge::store
