// Reads OpenAI's .tiktoken files: a token in base64 and its rank in each line.
#pragma once

#include <string>
#include <string_view>

#include "core/result.h"
#include "data/tokenizer/internal/tokenizer_parts.h"

namespace kedge::data {

// Usage when the file is none of those whose regular expression and special tokens are known.
Result<TokenizerParts> read_tiktoken(std::string_view text, const std::string& sha256);

}  // namespace kedge::data
