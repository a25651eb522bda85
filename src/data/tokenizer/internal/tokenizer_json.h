// Reads tokenizer.json, the file of Hugging Face's `tokenizers`.
#pragma once

#include <string_view>

#include "core/result.h"
#include "data/tokenizer/internal/tokenizer_parts.h"

namespace kedge::data {

// Errors name the part of the file. `parts.digest` is left to the caller.
Result<TokenizerParts> read_tokenizer_json(std::string_view text);

}  // namespace kedge::data
