// The tokenizer that a GGUF file carries.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "core/result.h"
#include "data/tokenizer/tokenizer.h"

namespace kedge::data {

// The text of the tokenizer.json that says the same as the header's "tokenizer.ggml." keys. Usage:
// a kind of vocabulary, or a way to split text, that is not known here. `where` is for messages.
Result<std::string> tokenizer_json_of_gguf(const nlohmann::json& facts, std::string_view where);

}  // namespace kedge::data
