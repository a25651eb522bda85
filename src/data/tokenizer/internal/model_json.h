// Reads the "model" of a tokenizer.json.
#pragma once

#include <memory>

#include <nlohmann/json_fwd.hpp>

#include "core/result.h"
#include "data/tokenizer/internal/bpe.h"
#include "data/tokenizer/internal/model.h"

namespace kedge::data {

// The ids by the tokens' texts. Corrupt when there are none, or an id is none.
Result<TokenMap> read_vocabulary(const nlohmann::json& model);

// `is_byte_level`: the texts of the vocabulary are bytes written in ByteLevel's letters.
Result<std::unique_ptr<const TokenModel>> read_model(const nlohmann::json& model,
                                                     const TokenMap& names, bool is_byte_level);

// Whether the model has a token for each byte of a character that is not in the vocabulary.
Result<bool> has_byte_tokens(const nlohmann::json& model);

}  // namespace kedge::data
