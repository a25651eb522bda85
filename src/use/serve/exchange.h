// One request and its answer: texts that the model's thread is asked for become one JSON, or a
// stream of chunks.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "http/http.h"
#include "use/internal/answer_text.h"
#include "use/serve/completion_answer.h"

namespace kedge::use {

// What happens is told by the model's thread; all of it is told before the exchange ends.
class Exchange {
 public:
  Exchange(AnswerHead head, std::size_t choices, std::int64_t prompt_tokens, bool is_streamed,
           http::Answer answer);

  // Begins a stream's answer: everything is accepted.
  void open(const std::shared_ptr<Exchange>& self);

  void on_token(std::size_t choice, AnswerText& answer, std::optional<ToldToken> told);
  void on_end(std::size_t choice, AnswerText& answer, Ending ending);
  void on_error(const Error& error);

 private:
  std::string take_chunk(std::size_t choice, AnswerText& answer);
  void send(std::string text);
  void finish_stream();

  AnswerHead head_;
  std::vector<Choice> choices_;  // of a stream: what was not sent yet
  std::vector<bool> has_begun_;
  Usage usage_;
  bool is_streamed_;
  http::Answer answer_;
  std::size_t left_;      // choices that are not whole
  bool is_over_ = false;  // all has been said
  // The stream opens on another thread, later than the first words may come.
  std::mutex mutex_;
  std::shared_ptr<http::PushStream> stream_;
  std::string held_;
  bool is_finished_ = false;
};

}  // namespace kedge::use
