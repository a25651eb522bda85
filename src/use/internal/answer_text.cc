#include "use/internal/answer_text.h"

#include <algorithm>
#include <utility>

namespace kedge::use {
namespace {

// How much of the end of `text` is the beginning of `stop`.
std::size_t begun_size(const std::string& text, const std::string& stop) {
  std::size_t size = std::min(text.size(), stop.size() - 1);
  while (size > 0 && !text.ends_with(stop.substr(0, size))) {
    --size;
  }
  return size;
}

// How many bytes at the end of `text` may be a character that is not whole yet.
std::size_t unfinished_size(const std::string& text) {
  constexpr std::size_t kLongest = 3;
  for (std::size_t size = 1; size <= std::min(kLongest, text.size()); ++size) {
    const auto byte = static_cast<unsigned char>(text[text.size() - size]);
    if (byte >= 0xC0U) {
      const std::size_t whole = byte >= 0xF0U ? 4 : byte >= 0xE0U ? 3 : 2;
      return whole > size ? size : 0;
    }
    if (byte < 0x80U) {
      return 0;
    }
  }
  return 0;
}

}  // namespace

AnswerText::AnswerText(const LanguageModel& model, std::vector<std::string> stops)
    : stops_(std::move(stops)) {
  std::erase(stops_, "");
  if (model.tokenizer) {
    decoder_.emplace(*model.tokenizer);
  }
}

Result<Wish> AnswerText::push(std::int64_t id) {
  ++tokens_;
  text_ += decoder_ ? KEDGE_TRY(decoder_->push(static_cast<data::TokenId>(id)))
                    : std::string(1, static_cast<char>(id));
  cut_at_stop();
  return is_stopped_ ? Wish::Enough : Wish::More;
}

void AnswerText::finish() {
  if (decoder_ && !is_stopped_) {
    text_ += decoder_->finish();
    cut_at_stop();
  }
  is_finished_ = true;
}

std::string AnswerText::take_new() {
  const std::size_t end = std::max(shown_, settled_size());
  std::string fresh = text_.substr(shown_, end - shown_);
  shown_ = end;
  return fresh;
}

std::size_t AnswerText::settled_size() const {
  if (is_finished_ || is_stopped_) {
    return text_.size();
  }
  std::size_t held = unfinished_size(text_);
  for (const std::string& stop : stops_) {
    held = std::max(held, begun_size(text_, stop));
  }
  return text_.size() - held;
}

void AnswerText::cut_at_stop() {
  std::size_t longest = 0;
  for (const std::string& stop : stops_) {
    if (const std::size_t at = text_.find(stop, searched_); at != std::string::npos) {
      text_.resize(at);
      is_stopped_ = true;
    }
    longest = std::max(longest, stop.size());
  }
  searched_ = text_.size() > longest ? text_.size() - longest : 0;
}

}  // namespace kedge::use
