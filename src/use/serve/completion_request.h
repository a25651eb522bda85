// A request to /v1/chat/completions or /v1/completions: its JSON, checked field by field.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "data/chat/chat_template.h"
#include "use/answer_settings.h"
#include "use/serve/api_error.h"

namespace kedge::use {

// A text, or its tokens.
using PromptText = std::variant<std::string, std::vector<std::int64_t>>;

struct CompletionRequest {
  bool is_chat = false;
  std::string model = {};                               // empty: whichever there is
  data::ChatJson messages = {};                         // of a chat
  data::ChatJson variables = data::ChatJson::object();  // of its template
  std::vector<PromptText> prompts = {};                 // of completions
  Sampling sampling = {};
  bool has_seed = false;
  std::optional<std::int64_t> max_tokens = {};
  std::vector<std::string> stops = {};
  std::int64_t n = 1;  // answers to each prompt
  bool is_streamed = false;
  bool includes_usage = false;  // of a stream
  bool has_log_probs = false;
  std::int64_t likeliest = 0;  // log-probabilities of so many others too
};

Asked<CompletionRequest> read_chat_request(std::string_view body);
Asked<CompletionRequest> read_completion_request(std::string_view body);

}  // namespace kedge::use
