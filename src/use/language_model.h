// A language model, ready to be used: weights on their device, its tokenizer, its way to chat.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/file.h"
#include "core/result.h"
#include "data/tokenizer/tokenizer.h"
#include "device/context.h"
#include "nn/decoder.h"
#include "nn/model.h"

namespace kedge::use {

struct LanguageModelOptions {
  Path model;           // a folder of Hugging Face's, a .gguf file, a run or a checkpoint
  Path tokenizer = {};  // a tokenizer.json; empty: the model's own
  Path adapter = {};    // a folder of PEFT's; empty: none
  std::vector<std::string> overrides = {};  // of the config: train.device, train.precision, ...
};

struct LanguageModel {
  device::ContextPtr context;
  std::unique_ptr<nn::Model> model;  // in evaluation mode
  nn::Decoder* decoder = nullptr;    // the model's own, or one that computes every text anew
  std::unique_ptr<nn::Decoder> recomputing;
  std::int64_t vocab = 0;
  std::optional<data::Tokenizer> tokenizer;  // none: ids are bytes
  Path texts;                                // what says how it writes and chats; may be empty
  std::vector<std::int64_t> end_ids;         // tokens that end a text
  Path path;
};

// Usage: it is no language model, or one that kedge does not know; its tokenizer is not to be had.
Result<LanguageModel> open_language_model(const LanguageModelOptions& options);

// Bytes stand for themselves where there is no tokenizer. A token that begins every text is there
// once, also where the text begins with it.
Result<std::vector<std::int64_t>> encode_text(const LanguageModel& model, std::string_view text,
                                              bool special_tokens, bool add_around);

}  // namespace kedge::use
