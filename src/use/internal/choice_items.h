// Questions for a language model, out of a .jsonl file: which of several continuations of a context
// it finds the likeliest, or how likely it finds the one that there is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/file.h"
#include "core/result.h"
#include "use/internal/likelihood.h"

namespace kedge::use {

struct ChoiceItem {
  std::string id = {};     // the record's, else its line number
  std::string place = {};  // "file.jsonl:7"
  std::string context = {};
  std::vector<std::string> choices = {};  // as they stand in the record
  std::int64_t answer = 0;
};

enum class ItemsKind : std::uint8_t {
  Choices,        // {"context" or "query", "choices": [...], "answer" or "gold": number}
  Continuations,  // {"context", "continuation"}: items of one choice
};

struct ChoiceFile {
  ItemsKind kind = ItemsKind::Choices;
  std::vector<ChoiceItem> items;
};

// All records are of one kind. Errors name the file and the line.
Result<ChoiceFile> read_choices(const Path& file);

// What is scored of each choice of an item, counted as lm-evaluation-harness counts: the context
// and `delimiter` + choice are tokenized as one text, the choice's tokens are those after as many
// as the context alone has; whitespace at the context's end belongs to the choice; an empty context
// is the token that begins texts, else the one that ends them. What is longer than the model takes
// loses its beginning. Usage, with the item's place: a choice has no tokens of its own, or alone is
// too long.
Result<std::vector<Passage>> passages_of(const LanguageModel& model, const ChoiceItem& item,
                                         const std::string& delimiter);

}  // namespace kedge::use
