#include "use/serve/exchange.h"

#include <utility>

#include "use/serve/api_error.h"

namespace kedge::use {
namespace {

std::string reason_of(Ending ending) {
  return ending == Ending::MaxTokens ? "length" : "stop";
}

}  // namespace

Exchange::Exchange(AnswerHead head, std::size_t choices, std::int64_t prompt_tokens,
                   bool is_streamed, http::Answer answer)
    : head_(std::move(head)),
      choices_(choices),
      has_begun_(choices, false),
      usage_{.prompt_tokens = prompt_tokens},
      is_streamed_(is_streamed),
      answer_(std::move(answer)),
      left_(choices) {}

void Exchange::open(const std::shared_ptr<Exchange>& self) {
  if (!is_streamed_) {
    return;
  }
  http::Response response;
  response.headers.add("Content-Type", "text/event-stream; charset=utf-8");
  response.headers.add("Cache-Control", "no-store");
  response.headers.add("X-Accel-Buffering", "no");  // nginx would hold events back
  response.body =
      http::PushStart([self](std::shared_ptr<http::PushStream> stream) -> std::shared_ptr<void> {
        const std::lock_guard lock(self->mutex_);
        if (!self->held_.empty()) {
          stream->push(std::make_shared<const std::string>(std::exchange(self->held_, {})));
        }
        if (self->is_finished_) {
          stream->finish();
        }
        self->stream_ = std::move(stream);
        return nullptr;
      });
  // The answer holds its request's place, which now holds this.
  std::exchange(answer_, nullptr)(std::move(response));
}

void Exchange::on_token(std::size_t choice, AnswerText& answer, std::optional<ToldToken> told) {
  if (is_over_) {
    return;
  }
  if (told) {
    choices_[choice].told.push_back(std::move(*told));
  }
  if (is_streamed_) {
    send(take_chunk(choice, answer));
  }
}

void Exchange::on_end(std::size_t choice, AnswerText& answer, Ending ending) {
  if (is_over_) {
    return;
  }
  const std::string reason = answer.is_stopped() ? "stop" : reason_of(ending);
  usage_.completion_tokens += answer.tokens();
  const bool is_last = --left_ == 0;
  is_over_ = is_last;
  if (!is_streamed_) {
    choices_[choice].text = answer.text();
    choices_[choice].finish_reason = reason;
    if (is_last) {
      answer_(http::json_response(render_answer(head_, choices_, usage_)));
    }
    return;
  }
  send(take_chunk(choice, answer) + render_last_chunk(head_, choice, reason));
  if (is_last) {
    send((head_.includes_usage ? render_usage_chunk(head_, usage_) : "") + render_event("[DONE]"));
    finish_stream();
  }
}

// What a choice has become since the last one; may be empty.
std::string Exchange::take_chunk(std::size_t choice, AnswerText& answer) {
  std::string chunk;
  if (head_.is_chat && !has_begun_[choice]) {
    chunk += render_role_chunk(head_, choice);
  }
  has_begun_[choice] = true;
  if (std::string fresh = answer.take_new(); !fresh.empty()) {
    choices_[choice].text = std::move(fresh);
    chunk += render_text_chunk(head_, choice, std::exchange(choices_[choice], {}));
  }
  return chunk;
}

void Exchange::on_error(const Error& error) {
  if (std::exchange(is_over_, true)) {
    return;
  }
  if (is_streamed_) {
    send(render_event(render_error(api_error(error))));
    finish_stream();
  } else {
    answer_(error_answer(api_error(error)));
  }
}

void Exchange::send(std::string text) {
  if (text.empty()) {
    return;
  }
  const std::lock_guard lock(mutex_);
  if (stream_ == nullptr) {
    held_ += text;
  } else {
    stream_->push(std::make_shared<const std::string>(std::move(text)));
  }
}

void Exchange::finish_stream() {
  const std::lock_guard lock(mutex_);
  is_finished_ = true;
  if (stream_ != nullptr) {
    stream_->finish();
  }
}

}  // namespace kedge::use
