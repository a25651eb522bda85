// Records of instruction data, in the ways the field writes them, as conversations of
// {"role", "content"} messages. Knows JSON, no tokens and no files.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/data_config.h"
#include "core/result.h"
#include "data/chat/chat_template.h"

namespace kedge::data {

struct Conversation {
  ChatJson messages = ChatJson::array();
  ChatJson tools = {};    // a list, or null
  std::size_t given = 0;  // the assistant's turns at the beginning that are not learnt

  // A prompt and its completion as plain texts, for tokenizers without a template; the messages
  // say the same.
  struct Plain {
    std::string prompt;
    std::string completion;
  };

  std::optional<Plain> plain = {};
};

struct PreferencePair {
  Conversation chosen;
  Conversation rejected;
};

// One record of a file as JSON. Corrupt: it is none, or no object.
Result<ChatJson> parse_record(std::string_view text);

// By its keys. Corrupt: those of no format.
Result<config::RecordFormat> detect_format(const ChatJson& record);

// Corrupt: something is missing or of another kind, or the assistant says nothing.
Result<Conversation> read_conversation(const ChatJson& record, config::RecordFormat format);

// {prompt, chosen, rejected}, with texts or lists of messages, or any format's question with
// "chosen" and "rejected" beside it. Both answer the same messages, which are not learnt.
Result<PreferencePair> read_preference(const ChatJson& record);

}  // namespace kedge::data
