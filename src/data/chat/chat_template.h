// Chat templates: the Jinja in which a language model's makers say how a conversation becomes text.
// Rendered as Hugging Face's transformers renders them, with what the assistant says marked, so
// that a training can count these bytes and no others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/result.h"

namespace kedge::data {

// Ordered, because templates print tools and arguments in the order in which they were written.
using ChatJson = nlohmann::ordered_json;

struct ChatInput {
  ChatJson messages = ChatJson::array();  // [{"role": "user", "content": "..."}, ...]
  ChatJson tools = {};                    // a list of functions, or null
  bool add_generation_prompt = false;     // end with what the assistant's next turn begins with
  std::string bos_token = {};
  std::string eos_token = {};
  ChatJson variables = ChatJson::object();  // others by name, e.g. {"enable_thinking": false}
  // What strftime_now() shows: local time as seconds since 1970. None: the function is undefined,
  // because a text that is trained on must not depend on the day.
  std::optional<std::int64_t> now_s = {};
};

// Bytes of a rendered text that the assistant says, from `begin` up to `end`.
struct ChatSpan {
  std::size_t begin = 0;
  std::size_t end = 0;

  bool operator==(const ChatSpan&) const = default;
};

struct RenderedChat {
  std::string text;
  // In order: each turn with what ends it ("...<|im_end|>\n"), without its header.
  std::vector<ChatSpan> generated;
};

// Immutable and cheap to copy: threads share one.
class ChatTemplate {
 public:
  // Usage: a line of it is not understood, or uses a filter, test, method, function or statement
  // that is not known. `where` is the template's name in messages.
  static Result<ChatTemplate> parse(std::string_view text, std::string_view where);

  // Usage: the template refuses the conversation (raise_exception), asks for what it does not
  // have, or does not end.
  Result<std::string> render(const ChatInput& input) const;

  // The same text, with what the assistant says: where the template's {% generation %} stands, or
  // what was printed for a message of role "assistant" behind the generation prompt. Usage: that
  // cannot be told from the template's text.
  Result<RenderedChat> render_marked(const ChatInput& input) const;

  // Names the text: equal digests, equal templates.
  const std::string& digest() const;

 private:
  struct Parts;

  explicit ChatTemplate(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}

  std::shared_ptr<const Parts> parts_;
};

}  // namespace kedge::data
