#include "use/serve/completion_request.h"

#include <array>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "use/internal/text_batch.h"
#include "use/serve/fields.h"

namespace kedge::use {
namespace {

using data::ChatJson;

constexpr std::int64_t kMaxAnswers = 128;
constexpr std::int64_t kMaxInt = std::numeric_limits<std::int32_t>::max();
constexpr double kMaxTemperature = 100;

// What is for OpenAI's own books: it changes no answer.
constexpr auto kIgnored = std::to_array<std::string_view>(
    {"user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key"});

Asked<ChatJson> parse_object(std::string_view body) {
  ChatJson json = ChatJson::parse(body, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    return refuse_field("", "the body must be a JSON object");
  }
  return Asked<ChatJson>(std::in_place, std::move(json));
}

Asked<void> read_sampling(Fields& fields, CompletionRequest& request) {
  Sampling& sampling = request.sampling;
  sampling.temperature = KEDGE_TRY(fields.number("temperature", 1, 0, kMaxTemperature));
  sampling.top_p = KEDGE_TRY(fields.number("top_p", 1, 0, 1));
  sampling.top_k = KEDGE_TRY(fields.integer("top_k", 0, -1, kMaxInt));
  sampling.min_p = KEDGE_TRY(fields.number("min_p", 0, 0, 1));
  sampling.repetition_penalty = KEDGE_TRY(fields.number("repetition_penalty", 1, 0, 100));
  if (sampling.top_p == 0 || sampling.repetition_penalty == 0) {
    const std::string name = sampling.top_p == 0 ? "top_p" : "repetition_penalty";
    return refuse_field(name, fmt::format("'{}' must be above 0", name));
  }
  if (sampling.min_p == 1) {
    return refuse_field("min_p", "'min_p' must be below 1");
  }
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  request.has_seed = fields.find("seed") != nullptr;
  sampling.seed = static_cast<std::uint64_t>(KEDGE_TRY(fields.integer("seed", 0, kLeast, kMost)));
  constexpr std::string_view kWhy = "use 'repetition_penalty'";
  KEDGE_TRY(fields.only("frequency_penalty", 0, kWhy));
  KEDGE_TRY(fields.only("presence_penalty", 0, kWhy));
  return fields.only("logit_bias", ChatJson::object(), "scores are not changed one by one");
}

Asked<void> read_stream(Fields& fields, CompletionRequest& request) {
  request.is_streamed = KEDGE_TRY(fields.flag("stream", false));
  const ChatJson given = KEDGE_TRY(fields.object("stream_options"));
  Fields options(given, "stream_options.");
  request.includes_usage = KEDGE_TRY(options.flag("include_usage", false));
  KEDGE_TRY(options.only("include_obfuscation", false, "chunks are as long as they are"));
  if (!given.empty() && !request.is_streamed) {
    return refuse_field("stream_options", "'stream_options' is for 'stream': true");
  }
  return options.refuse_others();
}

Asked<void> read_common(Fields& fields, CompletionRequest& request) {
  request.model = KEDGE_TRY(fields.text("model", ""));
  if (fields.find("max_tokens") != nullptr) {
    request.max_tokens = KEDGE_TRY(fields.integer("max_tokens", 1, 1, kMaxInt));
  }
  request.stops = KEDGE_TRY(fields.texts("stop"));
  request.n = KEDGE_TRY(fields.integer("n", 1, 1, kMaxAnswers));
  KEDGE_TRY(read_sampling(fields, request));
  KEDGE_TRY(read_stream(fields, request));
  for (const std::string_view name : kIgnored) {
    fields.ignore(name);
  }
  return {};
}

// [{"type": "text", "text": "..."}, ...] as one text; a text as it is.
Asked<ChatJson> read_content(const ChatJson& content, const std::string& where) {
  if (content.is_null() || content.is_string()) {
    return Asked<ChatJson>(std::in_place, content);
  }
  if (!content.is_array()) {
    return refuse_field(where, fmt::format("'{}' must be a text or a list of parts", where));
  }
  std::string text;
  for (std::size_t i = 0; i < content.size(); ++i) {
    const std::string place = fmt::format("{}[{}]", where, i);
    if (!content[i].is_object()) {
      return refuse_field(place, fmt::format("'{}' must be an object", place));
    }
    Fields part(content[i], place + ".");
    KEDGE_TRY(part.only("type", "text", "the model reads nothing else"));
    text += KEDGE_TRY(part.text("text", ""));
    KEDGE_TRY(part.refuse_others());
  }
  return Asked<ChatJson>(std::in_place, text);
}

Asked<ChatJson> read_message(const ChatJson& given, const std::string& where) {
  if (!given.is_object()) {
    return refuse_field(where, fmt::format("'{}' must be an object", where));
  }
  Fields fields(given, where + ".");
  const std::string role = KEDGE_TRY(fields.text("role", ""));
  if (role.empty()) {
    return refuse_field(where + ".role", fmt::format("'{}.role' is missing", where));
  }
  if (fields.find("content") == nullptr) {
    return refuse_field(where + ".content", fmt::format("'{}.content' is missing", where));
  }
  ChatJson message = {{"role", role}};
  message["content"] = KEDGE_TRY(read_content(given["content"], where + ".content"));
  if (const std::string name = KEDGE_TRY(fields.text("name", "")); !name.empty()) {
    message["name"] = name;
  }
  KEDGE_TRY(fields.refuse_others());
  return Asked<ChatJson>(std::in_place, std::move(message));
}

Asked<ChatJson> read_messages(Fields& fields) {
  const ChatJson* given = fields.find("messages");
  if (given == nullptr || !given->is_array() || given->empty()) {
    return refuse_field("messages", "'messages' must be a list of at least one message");
  }
  ChatJson messages = ChatJson::array();
  for (std::size_t i = 0; i < given->size(); ++i) {
    messages.push_back(KEDGE_TRY(read_message((*given)[i], fmt::format("messages[{}]", i))));
  }
  return Asked<ChatJson>(std::in_place, std::move(messages));
}

Asked<PromptText> read_prompt(const ChatJson& given) {
  if (given.is_string()) {
    return PromptText(given.get<std::string>());
  }
  std::vector<std::int64_t> ids;
  for (const ChatJson& id : given.is_array() ? given : ChatJson::array({nullptr})) {
    if (!id.is_number_integer() || id.get<std::int64_t>() < 0) {
      return refuse_field("prompt",
                          "'prompt' must be a text, a list of tokens, or a list of these");
    }
    ids.push_back(id.get<std::int64_t>());
  }
  return PromptText(std::move(ids));
}

Asked<std::vector<PromptText>> read_prompts(Fields& fields) {
  const ChatJson* given = fields.find("prompt");
  if (given == nullptr) {
    return refuse_field("prompt", "'prompt' is missing");
  }
  std::vector<PromptText> prompts;
  const bool is_list = given->is_array() && !given->empty() && !given->front().is_number();
  for (const ChatJson& one : is_list ? *given : ChatJson::array({*given})) {
    prompts.push_back(KEDGE_TRY(read_prompt(one)));
  }
  return prompts;
}

}  // namespace

Asked<CompletionRequest> read_chat_request(std::string_view body) {
  const ChatJson json = KEDGE_TRY(parse_object(body));
  Fields fields(json);
  CompletionRequest request{.is_chat = true};
  request.messages = KEDGE_TRY(read_messages(fields));
  KEDGE_TRY(read_common(fields, request));
  if (fields.find("max_completion_tokens") != nullptr) {
    if (request.max_tokens) {
      return refuse_field("max_tokens",
                          "'max_tokens' and 'max_completion_tokens' are the same: give one");
    }
    request.max_tokens = KEDGE_TRY(fields.integer("max_completion_tokens", 1, 1, kMaxInt));
  }
  request.variables = KEDGE_TRY(fields.object("chat_template_kwargs"));
  request.has_log_probs = KEDGE_TRY(fields.flag("logprobs", false));
  request.likeliest = KEDGE_TRY(fields.integer("top_logprobs", 0, 0, kMaxTold));
  if (request.likeliest > 0 && !request.has_log_probs) {
    return refuse_field("top_logprobs", "'top_logprobs' is for 'logprobs': true");
  }
  KEDGE_TRY(fields.only("response_format", {{"type", "text"}}, "answers are free text"));
  KEDGE_TRY(fields.only("tools", ChatJson::array(), "the model is given no tools"));
  KEDGE_TRY(fields.only("tool_choice", "none", "the model is given no tools"));
  KEDGE_TRY(fields.refuse_others());
  return request;
}

Asked<CompletionRequest> read_completion_request(std::string_view body) {
  const ChatJson json = KEDGE_TRY(parse_object(body));
  Fields fields(json);
  CompletionRequest request;
  request.prompts = KEDGE_TRY(read_prompts(fields));
  KEDGE_TRY(read_common(fields, request));
  KEDGE_TRY(fields.only("echo", false, "the prompt is not repeated"));
  KEDGE_TRY(fields.only("best_of", 1, "use 'n'"));
  KEDGE_TRY(fields.only("suffix", "", "the model only goes on"));
  request.has_log_probs = fields.find("logprobs") != nullptr;
  request.likeliest = KEDGE_TRY(fields.integer("logprobs", 0, 0, kMaxTold));
  KEDGE_TRY(fields.refuse_others());
  return request;
}

}  // namespace kedge::use
