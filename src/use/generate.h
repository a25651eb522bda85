// `kedge generate`: text from a language model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/file.h"
#include "core/result.h"

namespace kedge::use {

struct GenerateOptions {
  Path model;
  Path tokenizer = {};
  Path adapter = {};
  std::string prompt = {};  // empty: read from `input`, or from standard input
  Path input = {};          // .jsonl with "prompt", or one prompt a line
  Path output = {};         // .jsonl; with prompts that it has already left out
  std::int64_t max_tokens = 256;
  double temperature = 0;
  std::int64_t top_k = 0;
  double top_p = 1;
  double min_p = 0;
  double repetition_penalty = 1;
  std::int64_t seed = 0;
  std::vector<std::string> stops = {};  // texts that end an answer, and are no part of it
  std::int64_t batch = 8;               // prompts of a file that advance together
  bool as_json = false;
  std::vector<std::string> overrides = {};
};

// Prints each prompt's continuation as it comes, or one record a prompt. Usage: a value is out of
// its range, or no prompt is given.
Result<void> run_generate(const GenerateOptions& options);

}  // namespace kedge::use
