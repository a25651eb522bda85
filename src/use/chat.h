// `kedge chat`: a conversation with a language model at the terminal.
#pragma once

#include <cstdint>
#include <string>

#include "core/result.h"
#include "use/answer_settings.h"
#include "use/language_model.h"

namespace kedge::use {

struct ChatOptions {
  LanguageModelOptions model;
  AnswerSettings settings = {};
  std::string system = {};   // empty: the template's own, if it has one
  std::int64_t context = 0;  // tokens that the conversation has room for; 0: 8192, or less
  std::string first = {};    // what the user says first; empty: read from standard input
};

// What has been computed of the conversation so far is kept from turn to turn. Usage: the model has
// no chat template, or a value is out of its range.
Result<void> run_chat(const ChatOptions& options);

}  // namespace kedge::use
