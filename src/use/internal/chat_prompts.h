// Conversations as the tokens that a language model was taught to see them as: by its chat
// template, which is the only source of special tokens here.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/result.h"
#include "data/chat/chat_format.h"
#include "use/language_model.h"

namespace kedge::use {

class ChatPrompts {
 public:
  // Usage: the model has no chat template, or one that is not understood.
  static Result<ChatPrompts> load(const LanguageModel& model);

  // Up to where the assistant's next turn begins. `variables` are the template's own, by name.
  // Usage: the template refuses the conversation.
  Result<std::vector<std::int64_t>> encode(
      const data::ChatJson& messages,
      const data::ChatJson& variables = data::ChatJson::object()) const;

 private:
  ChatPrompts(data::ChatWords words, data::Tokenizer tokenizer)
      : words_(std::move(words)), tokenizer_(std::move(tokenizer)) {}

  data::ChatWords words_;
  data::Tokenizer tokenizer_;
};

}  // namespace kedge::use
