// `kedge eval` of a language model on texts: perplexity.
#pragma once

#include <cstdint>

#include "core/file.h"
#include "core/result.h"
#include "use/language_model.h"

namespace kedge::use {

struct PerplexityOptions {
  LanguageModelOptions model;
  Path text;                 // .jsonl with "text", a document a record; any other file is one
  std::int64_t context = 0;  // tokens of a window; 0: what the model takes, up to 2048
  std::int64_t stride = 0;   // tokens from one window to the next; 0: half a window
  std::int64_t batch = 4;    // windows at once
  bool as_json = false;
};

// A long document is scored by windows that overlap: each token once, after at least
// context - stride others (and the first ones after all before them); the first token of a document
// is given, not scored. The report goes to stdout. Usage: an option is out of its range, or no
// document has two tokens.
Result<void> run_perplexity(const PerplexityOptions& options);

}  // namespace kedge::use
