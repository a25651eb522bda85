// What OpenAI's clients are answered, as JSON: whole, or in chunks as server-sent events.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kedge::use {

// What all chunks of an answer have in common.
struct AnswerHead {
  bool is_chat = false;
  std::string id = {};  // "chatcmpl-..."
  std::string model = {};
  std::int64_t created_s = 0;  // Unix time
  bool includes_usage = false;
  bool has_log_probs = false;
};

AnswerHead make_head(bool is_chat, std::string model, std::int64_t now_s);

struct Usage {
  std::int64_t prompt_tokens = 0;
  std::int64_t completion_tokens = 0;
};

// A token by its text, and how likely it and others were.
struct ToldToken {
  std::string text;
  double log_prob = 0;
  std::vector<std::pair<std::string, double>> likeliest = {};
};

struct Choice {
  std::string text = {};
  std::string finish_reason = {};
  std::vector<ToldToken> told = {};  // where the head has_log_probs
};

std::string render_answer(const AnswerHead& head, const std::vector<Choice>& choices,
                          const Usage& usage);

// "data: {...}\n\n"
std::string render_event(std::string_view json);
// A choice's first chunk: it says who speaks, in a chat.
std::string render_role_chunk(const AnswerHead& head, std::size_t choice);
// What is new of a choice.
std::string render_text_chunk(const AnswerHead& head, std::size_t choice, const Choice& fresh);
std::string render_last_chunk(const AnswerHead& head, std::size_t choice,
                              std::string_view finish_reason);
std::string render_usage_chunk(const AnswerHead& head, const Usage& usage);

// What /v1/models and /v1/models/{id} say of a model.
std::string render_model(const std::string& name, std::int64_t created_s);
std::string render_models(const std::string& name, std::int64_t created_s);

}  // namespace kedge::use
