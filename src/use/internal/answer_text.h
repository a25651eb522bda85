// The text that grows out of a model's tokens, up to the first stop text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "data/tokenizer/tokenizer.h"
#include "use/internal/text_batch.h"
#include "use/language_model.h"

namespace kedge::use {

class AnswerText {
 public:
  AnswerText(const LanguageModel& model, std::vector<std::string> stops);

  // Enough: the text holds a stop text, and ends before it.
  Result<Wish> push(std::int64_t id);
  // After the last token.
  void finish();

  // What has come since the last call: whole characters, and nothing that may yet become a stop
  // text.
  std::string take_new();

  const std::string& text() const { return text_; }

  std::int64_t tokens() const { return tokens_; }

  bool is_stopped() const { return is_stopped_; }  // by a stop text

 private:
  void cut_at_stop();
  std::size_t settled_size() const;

  std::vector<std::string> stops_;
  std::optional<data::TokenDecoder> decoder_;  // none: ids are bytes
  std::string text_;
  std::size_t searched_ = 0;  // up to here there is no stop text
  std::size_t shown_ = 0;
  std::int64_t tokens_ = 0;
  bool is_stopped_ = false;
  bool is_finished_ = false;
};

}  // namespace kedge::use
