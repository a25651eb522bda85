// Conversations to tokens: rendered by the model's chat template, with what the assistant says
// marked.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/data_config.h"
#include "core/result.h"
#include "data/chat/chat_format.h"
#include "data/internal/conversation.h"
#include "data/tokenizer/marked_text.h"

namespace kedge::data {

// Those of config.tokenizer and config.chat_template. Usage: config names no tokenizer.
Result<ChatFormat> open_chat_format(const config::DataConfig& config);

// What the tokenizer puts around a text: often a BOS before it.
struct AroundText {
  std::vector<TokenId> before;
  std::vector<TokenId> after;
};

AroundText find_around(const ChatFormat& format);

// For one thread. `format` must outlive it.
class ChatEncoder {
 public:
  ChatEncoder(const ChatFormat& format, config::TrainOn train_on);

  // Marks are 1 where the token counts in the loss. Usage: the template refuses the messages; the
  // BOS stands twice at the beginning; there is no template and the record is no plain pair.
  Result<MarkedTokens> encode(const Conversation& conversation);

 private:
  bool is_bos(TokenId id) const;
  Result<MarkedTokens> encode_rendered(const Conversation& conversation);
  Result<MarkedTokens> encode_plain(const Conversation::Plain& plain);

  const ChatFormat& format_;
  config::TrainOn train_on_;
  AroundText around_;
  TokenEncoder chat_encoder_;
  TokenEncoder plain_encoder_;
};

}  // namespace kedge::data
