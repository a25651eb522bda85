// `kedge eval --choices`: which continuations a language model finds likely.
#pragma once

#include <cstdint>
#include <string>

#include "core/file.h"
#include "core/result.h"
#include "use/language_model.h"

namespace kedge::use {

struct ChoiceOptions {
  LanguageModelOptions model;
  Path choices;                 // .jsonl (internal/choice_items.h)
  std::string delimiter = " ";  // between a context and a choice
  Path output = {};             // .jsonl, a record an item; items that it has already are left out
  std::int64_t batch = 16;      // continuations at once
  bool as_json = false;
};

// The report goes to stdout. Usage: a record is not what it must be, with its place; the output is
// of another model, other records or another delimiter.
Result<void> run_choices(const ChoiceOptions& options);

}  // namespace kedge::use
