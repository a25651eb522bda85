// The one thread that changes the database. Jobs that wait when it looks share one transaction, so
// that many small changes cost one commit; each is answered after the COMMIT. A thread that has
// small changes of its own may do the same in the writer's place (Turn), where that is quicker than
// to wake it and to be woken: there is still one transaction at a time.
//
// What waits is bounded: who sends more than the disk takes is refused, and tries again. A job may
// leave changes in memory, which the hooks write before the COMMIT and publish after it.
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
#include "store/internal/database.h"

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

struct WriterLimits {
  std::size_t jobs = 100'000;
  std::size_t bytes = std::size_t{256} << 20U;
};

class Writer {
 public:
  using Work = std::function<Result<void>(Database&)>;
  using Answer = std::function<void(Result<void>)>;

  Writer(std::unique_ptr<Database> database, WriterHooks hooks, WriterLimits limits = {});
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer();  // after everything that was submitted

  // `work` may run more than once, each time on what is committed. `answer` is called once; at once
  // and with Unavailable when too much waits. `bytes`: about what the job holds in memory.
  void submit(Work work, Answer answer, std::size_t bytes = 0);

  // The same, waiting, and never refused: a thread can have but one. Not from the writer's own.
  Result<void> run(Work work);

  // While it lives, small jobs that its thread submits wait for its end, which commits them on that
  // thread: if they are few, the database is near, and nobody else is at it. One a thread at a
  // time.
  class Turn {
   public:
    explicit Turn(Writer& writer);
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn();

   private:
    Writer& writer_;
  };

 private:
  struct Job {
    Work work;
    Answer answer;
    std::size_t bytes = 0;
  };
  enum class Outcome : std::uint8_t { Committed, RolledBack, Unknown };

  void serve();
  std::vector<Job> take_jobs();  // holding the mutex
  void end_turn();
  bool may_end_turn() const;  // holding the mutex
  void commit_all(std::vector<Job> jobs);
  Result<void> run_jobs(std::vector<Job>& jobs);
  Result<void> run_job(Job& job, bool is_alone, bool& must_begin_again);
  Outcome commit(Result<void>& result);
  void roll_back();

  std::unique_ptr<Database> database_;
  WriterHooks hooks_;
  WriterLimits limits_;
  bool must_reconnect_ = false;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Job> waiting_;
  std::size_t waiting_bytes_ = 0;
  bool is_stopping_ = false;
  bool is_busy_ = false;     // a thread works on the database
  bool has_chores_ = false;  // of the database, for the writer's own thread
  std::thread thread_;       // last: it starts when all else is there
};

}  // namespace kedge::store
