// `kedge generate`: text from a language model.
#pragma once

#include <cstdint>
#include <string>

#include "core/file.h"
#include "core/result.h"
#include "use/answer_settings.h"
#include "use/language_model.h"

namespace kedge::use {

struct GenerateOptions {
  LanguageModelOptions model;
  AnswerSettings settings = {};
  std::string prompt = {};  // empty: read from `input`, or from standard input
  // .jsonl with "prompt", or with "messages" for a conversation; otherwise one prompt a line.
  Path input = {};
  Path output = {};        // .jsonl; with prompts that it has already left out
  std::int64_t batch = 8;  // prompts of a file that advance together
  bool as_json = false;
};

// Prints each prompt's continuation as it comes, or one record a prompt. Usage: a value is out of
// its range, or no prompt is given. The n-th prompt of a file is drawn with seed + n - 1.
Result<void> run_generate(const GenerateOptions& options);

}  // namespace kedge::use
