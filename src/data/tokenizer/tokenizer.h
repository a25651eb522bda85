// Tokenizers of language models: text to ids and back, with the same ids as Hugging Face's
// `tokenizers` and OpenAI's tiktoken give. They are read from a tokenizer.json or a .tiktoken file;
// what such a file asks for and kedge does not know is refused by name. Knows bytes and ids, no
// tensors and no chat.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/file.h"
#include "core/result.h"
#include "data/tokenizer/internal/model.h"

namespace kedge::data {

struct TokenizerParts;

// Immutable and cheap to copy: threads share one, each with an encoder of its own.
class Tokenizer {
 public:
  // A tokenizer.json, a folder that holds one, or a .tiktoken file of OpenAI's (known by its
  // SHA-256, because its regular expression is not in it). Usage or Corrupt names the file and the
  // part that is not known or wrong.
  static Result<Tokenizer> load(const Path& path);
  // The text of a tokenizer.json.
  static Result<Tokenizer> parse(std::string_view json);

  explicit Tokenizer(std::shared_ptr<const TokenizerParts> parts) : parts_(std::move(parts)) {}

  // The largest id and one more. A model may have more rows, to please its kernels.
  std::int64_t vocab() const;
  // The id of a token by its text, as the file writes it: "<|endoftext|>", "</s>".
  std::optional<TokenId> find(std::string_view token) const;
  // The special token that ends a text, where the file has one of the usual names; "<|endoftext|>",
  // "<|end_of_text|>", "</s>", "<eos>", "<EOT>" or DeepSeek's.
  std::optional<TokenId> find_end_of_text() const;
  // SHA-256 of the file, which names the tokenizer whatever its path is.
  const std::string& digest() const;

  const TokenizerParts& parts() const { return *parts_; }

 private:
  std::shared_ptr<const TokenizerParts> parts_;
};

struct EncodeOptions {
  // Whether "<|endoftext|>" in a text is that token. False for texts from outside, which may not
  // end a document or play another role in a chat by what they say.
  bool special_tokens = false;
  // Whether the tokens that the file puts around a text (BOS, EOS) are put there.
  bool add_around = false;
};

// Text to ids, for one thread: it remembers pieces that came before. Any bytes are text: those that
// are not UTF-8 become U+FFFD, as in Python, and are counted.
class TokenEncoder {
 public:
  explicit TokenEncoder(const Tokenizer& tokenizer, EncodeOptions options = {});
  ~TokenEncoder();
  TokenEncoder(TokenEncoder&&) noexcept;

  // Appends the ids of `text`.
  void encode(std::string_view text, std::vector<TokenId>& ids);

  // How many U+FFFD stand for bytes that were no UTF-8, in all texts so far.
  std::int64_t replaced_count() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Ids to text, one at a time: what is returned are whole characters, and all of it together is what
// the ids decode to.
class TokenDecoder {
 public:
  // `skip_special`: special tokens have no text.
  explicit TokenDecoder(const Tokenizer& tokenizer, bool skip_special = true);
  ~TokenDecoder();
  TokenDecoder(TokenDecoder&&) noexcept;
  TokenDecoder& operator=(TokenDecoder&&) noexcept;

  // The text that is complete with this id; may be empty. Usage for an id without a token.
  Result<std::string> push(TokenId id);
  // The rest; bytes of an unfinished character become U+FFFD. The decoder begins anew.
  std::string finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// All of the ids at once.
Result<std::string> decode(const Tokenizer& tokenizer, const std::vector<TokenId>& ids,
                           bool skip_special = true);

}  // namespace kedge::data
