// The thread that has the model: texts wait, get a slot, advance together, and leave.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "core/result.h"
#include "use/internal/answer_text.h"
#include "use/internal/text_batch.h"
#include "use/language_model.h"

namespace kedge::use {

// A text to be answered. What it is told comes from the model's thread, which must not be kept
// waiting.
struct Job {
  TextRequest request;
  std::vector<std::string> stops = {};
  std::shared_ptr<const std::atomic<bool>> has_left = {};  // nobody waits for it any more; or null
  std::function<void(AnswerText& answer, const MadeToken& token)> on_token = {};
  std::function<void(AnswerText& answer, Ending ending)> on_end = {};
  std::function<void(const Error& error)> on_error = {};  // and nothing follows
};

class ModelThread {
 public:
  struct Options {
    std::size_t slots = 4;
    std::int64_t room = 0;  // tokens of each
    std::size_t queue = 64;
  };

  // Ready to answer when it returns. The model lives longer.
  static Result<std::unique_ptr<ModelThread>> start(const LanguageModel& model,
                                                    const Options& options);
  ModelThread(const ModelThread&) = delete;
  ModelThread& operator=(const ModelThread&) = delete;
  ~ModelThread();

  // For any thread. Takes all or none: Unavailable when too many wait, Interrupted when it stops.
  Result<void> submit(std::vector<Job> jobs);

  std::int64_t room() const { return options_.room; }

  // Begins no more, and returns when the texts that have a slot are done; those that take longer
  // than `grace` are told so.
  void stop(std::chrono::milliseconds grace);

  // Why it has ended by itself, if it has.
  std::optional<Error> failure() const;

 private:
  using Clock = std::chrono::steady_clock;

  struct Running {
    Job job;
    AnswerText answer;
  };

  ModelThread(const LanguageModel& model, const Options& options)
      : model_(model), options_(options) {}

  void run();
  void serve(TextBatch& batch);
  bool wait_for_work(bool is_idle);
  void begin_waiting(TextBatch& batch);
  void drop_left(TextBatch& batch);
  TextEvents events();
  void fail_all(const Error& error);

  const LanguageModel& model_;
  Options options_;
  std::vector<std::optional<Running>> running_;  // by row
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> waiting_;
  std::optional<Clock::time_point> stops_at_;
  bool is_ready_ = false;
  std::optional<Error> failure_;
  std::thread thread_;
};

}  // namespace kedge::use
