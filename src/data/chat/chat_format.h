// What the files of a language model say about text: its tokenizer, its chat template and the
// tokens that the template names.
#pragma once

#include <optional>
#include <string>

#include "core/file.h"
#include "core/result.h"
#include "data/chat/chat_template.h"
#include "data/tokenizer/tokenizer.h"

namespace kedge::data {

struct ChatWords {
  std::optional<ChatTemplate> chat = {};  // none: the model has none
  std::string bos_token = {};             // their texts; empty where there are none
  std::string eos_token = {};
};

struct ChatFormat : ChatWords {
  Tokenizer tokenizer;
  std::optional<TokenId> bos = {};
  std::optional<TokenId> eos = {};
};

// `model`: a folder of Hugging Face's (tokenizer.json, tokenizer_config.json, chat_template.jinja),
// a file of it, a .gguf file or a .tiktoken file. `chat_template`: a file to take in place of the
// model's own; may be empty. NotFound and Usage name the file.
Result<ChatWords> load_chat_words(const Path& model, const Path& chat_template = {});

// The same, and the tokenizer.
Result<ChatFormat> load_chat_format(const Path& model, const Path& chat_template = {});

}  // namespace kedge::data
