#include "use/serve/completion_answer.h"

#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/random_text.h"

namespace kedge::use {
namespace {

using Json = nlohmann::ordered_json;

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json head_of(const AnswerHead& head, std::string_view chat_object) {
  return {{"id", head.id},
          {"object", head.is_chat ? chat_object : "text_completion"},
          {"created", head.created_s},
          {"model", head.model}};
}

Json usage_of(const Usage& usage) {
  return {{"prompt_tokens", usage.prompt_tokens},
          {"completion_tokens", usage.completion_tokens},
          {"total_tokens", usage.prompt_tokens + usage.completion_tokens}};
}

std::string render_chunk(const AnswerHead& head, Json choices, Json usage) {
  Json chunk = head_of(head, "chat.completion.chunk");
  chunk["choices"] = std::move(choices);
  if (head.includes_usage) {
    chunk["usage"] = std::move(usage);
  }
  return render_event(dump(chunk));
}

Json chat_log_prob(const std::string& text, double log_prob) {
  Json bytes = Json::array();
  for (const char byte : text) {
    bytes.push_back(static_cast<unsigned char>(byte));
  }
  return {{"token", text}, {"logprob", log_prob}, {"bytes", std::move(bytes)}};
}

Json chat_log_probs(const std::vector<ToldToken>& told) {
  Json content = Json::array();
  for (const ToldToken& token : told) {
    Json entry = chat_log_prob(token.text, token.log_prob);
    entry["top_logprobs"] = Json::array();
    for (const auto& [text, log_prob] : token.likeliest) {
      entry["top_logprobs"].push_back(chat_log_prob(text, log_prob));
    }
    content.push_back(std::move(entry));
  }
  return {{"content", std::move(content)}, {"refusal", nullptr}};
}

Json text_log_probs(const std::vector<ToldToken>& told) {
  Json all = {{"tokens", Json::array()},
              {"token_logprobs", Json::array()},
              {"top_logprobs", Json::array()}};
  for (const ToldToken& token : told) {
    all["tokens"].push_back(token.text);
    all["token_logprobs"].push_back(token.log_prob);
    Json top = Json::object();
    for (const auto& [text, log_prob] : token.likeliest) {
      top[text] = log_prob;
    }
    all["top_logprobs"].push_back(std::move(top));
  }
  return all;
}

Json log_probs_of(const AnswerHead& head, const std::vector<ToldToken>& told) {
  if (!head.has_log_probs) {
    return nullptr;
  }
  return head.is_chat ? chat_log_probs(told) : text_log_probs(told);
}

// `said`: what is new in a choice, {"content": "..."} or {"text": "..."}.
Json choice_of(const AnswerHead& head, std::size_t index, Json said, Json finish_reason,
               Json log_probs = nullptr) {
  Json choice = {{"index", index}};
  if (head.is_chat) {
    choice["delta"] = std::move(said);
  } else {
    choice.update(said);
  }
  choice["logprobs"] = std::move(log_probs);
  choice["finish_reason"] = std::move(finish_reason);
  return Json::array({std::move(choice)});
}

Json model_of(const std::string& name, std::int64_t created_s) {
  return {{"id", name}, {"object", "model"}, {"created", created_s}, {"owned_by", "kedge"}};
}

}  // namespace

AnswerHead make_head(bool is_chat, std::string model, std::int64_t now_s) {
  constexpr std::size_t kIdBytes = 12;
  return {.is_chat = is_chat,
          .id = (is_chat ? "chatcmpl-" : "cmpl-") + make_random_hex(kIdBytes),
          .model = std::move(model),
          .created_s = now_s};
}

std::string render_answer(const AnswerHead& head, const std::vector<Choice>& choices,
                          const Usage& usage) {
  Json answer = head_of(head, "chat.completion");
  answer["choices"] = Json::array();
  for (std::size_t i = 0; i < choices.size(); ++i) {
    Json choice = {{"index", i}};
    if (head.is_chat) {
      choice["message"] = {{"role", "assistant"}, {"content", choices[i].text}};
    } else {
      choice["text"] = choices[i].text;
    }
    choice["logprobs"] = log_probs_of(head, choices[i].told);
    choice["finish_reason"] = choices[i].finish_reason;
    answer["choices"].push_back(std::move(choice));
  }
  answer["usage"] = usage_of(usage);
  return dump(answer);
}

std::string render_event(std::string_view json) {
  return fmt::format("data: {}\n\n", json);
}

std::string render_role_chunk(const AnswerHead& head, std::size_t choice) {
  return render_chunk(
      head, choice_of(head, choice, {{"role", "assistant"}, {"content", ""}}, nullptr), nullptr);
}

std::string render_text_chunk(const AnswerHead& head, std::size_t choice, const Choice& fresh) {
  return render_chunk(head,
                      choice_of(head, choice, {{head.is_chat ? "content" : "text", fresh.text}},
                                nullptr, log_probs_of(head, fresh.told)),
                      nullptr);
}

std::string render_last_chunk(const AnswerHead& head, std::size_t choice,
                              std::string_view finish_reason) {
  const Json nothing = head.is_chat ? Json::object() : Json{{"text", ""}};
  return render_chunk(head, choice_of(head, choice, nothing, finish_reason), nullptr);
}

std::string render_usage_chunk(const AnswerHead& head, const Usage& usage) {
  return render_chunk(head, Json::array(), usage_of(usage));
}

std::string render_model(const std::string& name, std::int64_t created_s) {
  return dump(model_of(name, created_s));
}

std::string render_models(const std::string& name, std::int64_t created_s) {
  return dump({{"object", "list"}, {"data", Json::array({model_of(name, created_s)})}});
}

}  // namespace kedge::use
