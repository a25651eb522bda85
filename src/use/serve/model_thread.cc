#include "use/serve/model_thread.h"

#include <iterator>
#include <utility>

#include <c10/core/DeviceGuard.h>
#include <fmt/format.h>

#include "train/torch_guard.h"

namespace kedge::use {
namespace {

Error stopping() {
  return {ErrorKind::Interrupted, "the server is stopping", "ask another, or again later"};
}

}  // namespace

Result<std::unique_ptr<ModelThread>> ModelThread::start(const LanguageModel& model,
                                                        const Options& options) {
  std::unique_ptr<ModelThread> made(new ModelThread(model, options));
  made->thread_ = std::thread([it = made.get()] { it->run(); });
  std::unique_lock lock(made->mutex_);
  made->changed_.wait(lock, [&] { return made->is_ready_ || made->failure_; });
  if (made->failure_) {
    return std::unexpected(*made->failure_);
  }
  lock.unlock();
  return made;
}

ModelThread::~ModelThread() {
  stop({});
}

Result<void> ModelThread::submit(std::vector<Job> jobs) {
  const std::lock_guard lock(mutex_);
  if (failure_ || stops_at_) {
    return std::unexpected(failure_ ? *failure_ : stopping());
  }
  if (waiting_.size() + jobs.size() > options_.queue) {
    return fail(ErrorKind::Unavailable,
                fmt::format("{} texts wait already, and {} may", waiting_.size(), options_.queue),
                "try again in a moment");
  }
  std::ranges::move(jobs, std::back_inserter(waiting_));
  changed_.notify_all();
  return {};
}

void ModelThread::stop(std::chrono::milliseconds grace) {
  {
    const std::lock_guard lock(mutex_);
    stops_at_ = Clock::now() + grace;
    changed_.notify_all();
  }
  if (thread_.joinable()) {
    thread_.join();
  }
}

std::optional<Error> ModelThread::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void ModelThread::run() {
  const auto done = train::catch_torch([&]() -> Result<void> {
    const c10::OptionalDeviceGuard here(model_.context->device);
    TextBatch batch(model_, options_.slots, options_.room);
    running_.resize(batch.rows());
    {
      const std::lock_guard lock(mutex_);
      is_ready_ = true;
      changed_.notify_all();
    }
    serve(batch);
    return {};
  });
  if (!done) {
    const std::lock_guard lock(mutex_);
    failure_ = done.error();
    changed_.notify_all();
  }
  fail_all(done ? stopping() : done.error());
}

void ModelThread::serve(TextBatch& batch) {
  const TextEvents events = this->events();
  while (wait_for_work(batch.is_idle())) {
    begin_waiting(batch);
    drop_left(batch);
    batch.advance(events);
  }
}

// False: it is time to end.
bool ModelThread::wait_for_work(bool is_idle) {
  std::unique_lock lock(mutex_);
  if (is_idle) {
    changed_.wait(lock, [&] { return !waiting_.empty() || stops_at_; });
  }
  return !stops_at_ || (!is_idle && Clock::now() < *stops_at_);
}

void ModelThread::begin_waiting(TextBatch& batch) {
  const std::lock_guard lock(mutex_);
  for (auto row = batch.find_free(); row && !waiting_.empty() && !stops_at_;
       row = batch.find_free()) {
    Job job = std::move(waiting_.front());
    waiting_.pop_front();
    if (job.has_left != nullptr && *job.has_left) {
      continue;
    }
    batch.begin(*row, job.request);
    AnswerText answer(model_, job.stops);
    running_[*row].emplace(std::move(job), std::move(answer));
  }
}

void ModelThread::drop_left(TextBatch& batch) {
  for (std::size_t row = 0; row < running_.size(); ++row) {
    if (running_[row] && running_[row]->job.has_left != nullptr && *running_[row]->job.has_left) {
      batch.end(row);
      running_[row].reset();
    }
  }
}

TextEvents ModelThread::events() {
  return {.on_token =
              [this](std::size_t row, const MadeToken& token) {
                Running& it = *running_[row];
                const auto wish = it.answer.push(token.id);
                if (!wish) {
                  it.job.on_error(wish.error());
                  running_[row].reset();
                  return Wish::Enough;
                }
                it.job.on_token(it.answer, token);
                return *wish;
              },
          .on_end =
              [this](std::size_t row, Ending ending) {
                if (running_[row]) {
                  running_[row]->answer.finish();
                  running_[row]->job.on_end(running_[row]->answer, ending);
                  running_[row].reset();
                }
              }};
}

void ModelThread::fail_all(const Error& error) {
  std::deque<Job> waiting;
  {
    const std::lock_guard lock(mutex_);
    waiting = std::exchange(waiting_, {});
  }
  for (auto& running : running_) {
    if (running) {
      running->job.on_error(error);
      running.reset();
    }
  }
  for (const Job& job : waiting) {
    job.on_error(error);
  }
}

}  // namespace kedge::use
