#include "use/serve/api.h"

#include <algorithm>
#include <cctype>
#include <ctime>
#include <exception>
#include <random>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/log.h"
#include "core/utf8.h"
#include "use/serve/api_error.h"
#include "use/serve/completion_request.h"
#include "use/serve/exchange.h"

namespace kedge::use {
namespace {

constexpr std::uint64_t kMaxBody = 4U << 20U;
// What OpenAI's /v1/completions makes of a request that does not say.
constexpr std::int64_t kCompletionTokens = 16;

Asked<void> check_model(const ServedModel& served, const std::string& name) {
  if (name.empty() || name == served.name) {
    return {};
  }
  return std::unexpected(ApiError{
      .status = 404,
      .message = fmt::format("the model '{}' is not served here; '{}' is", name, served.name),
      .param = "model",
      .code = "model_not_found"});
}

Asked<std::vector<std::int64_t>> tokens_of(const ServedModel& served, const PromptText& prompt) {
  if (const auto* ids = std::get_if<std::vector<std::int64_t>>(&prompt)) {
    if (std::ranges::any_of(*ids, [&](auto id) { return id >= served.model.vocab; })) {
      return refuse_field("prompt", fmt::format("a token of 'prompt' is not one of the model's {}",
                                                served.model.vocab));
    }
    return *ids;
  }
  auto ids = encode_text(served.model, std::get<std::string>(prompt), /*special_tokens=*/true,
                         /*add_around=*/true);
  return ids ? Asked<std::vector<std::int64_t>>(std::move(*ids))
             : std::unexpected(api_error(ids.error(), "prompt"));
}

Asked<std::vector<std::vector<std::int64_t>>> texts_of(const ServedModel& served,
                                                       const CompletionRequest& request) {
  std::vector<std::vector<std::int64_t>> texts;
  if (!request.is_chat) {
    for (const PromptText& prompt : request.prompts) {
      texts.push_back(KEDGE_TRY(tokens_of(served, prompt)));
    }
    return texts;
  }
  if (!served.chat) {
    return std::unexpected(api_error(served.chat.error()));
  }
  auto ids = served.chat->encode(request.messages, request.variables);
  if (!ids) {
    return std::unexpected(api_error(ids.error(), "messages"));
  }
  texts.push_back(std::move(*ids));
  return texts;
}

Asked<std::int64_t> max_tokens_of(const ServedModel& served, const CompletionRequest& request,
                                  std::int64_t prompt_tokens) {
  const std::int64_t room = served.thread.room();
  const std::string prompt = request.is_chat ? "messages" : "prompt";
  const auto refuse = [&](std::string param, std::string message) {
    return std::unexpected(ApiError{.message = std::move(message),
                                    .param = std::move(param),
                                    .code = "context_length_exceeded"});
  };
  if (prompt_tokens == 0) {
    return refuse_field(prompt, fmt::format("'{}' has no tokens", prompt));
  }
  if (prompt_tokens >= room) {
    return refuse(
        prompt, fmt::format("'{}' has {} tokens, and there is room for {} with the answer", prompt,
                            prompt_tokens, room));
  }
  if (request.max_tokens && prompt_tokens + *request.max_tokens > room) {
    return refuse("max_tokens",
                  fmt::format("'{}' has {} tokens, and {} more are asked for: there is room for {} "
                              "together",
                              prompt, prompt_tokens, *request.max_tokens, room));
  }
  const std::int64_t most = room - prompt_tokens;
  return request.max_tokens.value_or(request.is_chat ? most : std::min(most, kCompletionTokens));
}

// An answer of which nobody said how it shall be drawn is drawn anew each time.
std::uint64_t fresh_seed() {
  std::random_device device;
  return (static_cast<std::uint64_t>(device()) << 32U) | device();
}

Asked<std::vector<Job>> jobs_of(const ServedModel& served, const CompletionRequest& request) {
  std::vector<Job> jobs;
  Sampling sampling = request.sampling;
  sampling.seed = request.has_seed ? sampling.seed : fresh_seed();
  sampling.top_k = std::max<std::int64_t>(sampling.top_k, 0);  // clients write -1 for all
  for (auto& tokens : KEDGE_TRY(texts_of(served, request))) {
    const std::int64_t most = KEDGE_TRY(max_tokens_of(served, request, std::ssize(tokens)));
    for (std::int64_t i = 0; i < request.n; ++i) {
      jobs.push_back(
          {.request = {.tokens = tokens,
                       .sampling = sampling,
                       .max_tokens = most,
                       .tells = request.has_log_probs ? std::max<std::int64_t>(1, request.likeliest)
                                                      : 0},
           .stops = request.stops});
      jobs.back().request.sampling.seed += static_cast<std::uint64_t>(i);
    }
  }
  return jobs;
}

// The text of one token by itself; of a byte that is no character, U+FFFD.
std::string text_of(const LanguageModel& model, std::int64_t id) {
  const std::string text = model.tokenizer
                               ? data::decode(*model.tokenizer, {static_cast<data::TokenId>(id)},
                                              /*skip_special=*/false)
                                     .value_or("")
                               : std::string(1, static_cast<char>(id));
  return as_utf8(text);
}

ToldToken told(const LanguageModel& model, const MadeToken& token, std::int64_t count) {
  ToldToken told{.text = text_of(model, token.id), .log_prob = token.log_prob};
  for (std::int64_t i = 0; i < std::min(count, std::ssize(token.likeliest)); ++i) {
    const TokenChance& chance = token.likeliest[static_cast<std::size_t>(i)];
    told.likeliest.emplace_back(text_of(model, chance.id), chance.log_prob);
  }
  return told;
}

Asked<void> begin(const ServedModel& served, const CompletionRequest& request,
                  const std::shared_ptr<const std::atomic<bool>>& has_left,
                  const http::Answer& answer) {
  KEDGE_TRY(check_model(served, request.model));
  std::vector<Job> jobs = KEDGE_TRY(jobs_of(served, request));
  std::int64_t prompt_tokens = 0;
  for (std::size_t i = 0; i < jobs.size(); i += static_cast<std::size_t>(request.n)) {
    prompt_tokens += std::ssize(jobs[i].request.tokens);
  }
  AnswerHead head = make_head(request.is_chat, served.name, std::time(nullptr));
  head.includes_usage = request.includes_usage;
  head.has_log_probs = request.has_log_probs;
  const auto exchange = std::make_shared<Exchange>(std::move(head), jobs.size(), prompt_tokens,
                                                   request.is_streamed, answer);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    jobs[i].has_left = has_left;
    jobs[i].on_token = [exchange, i, &served, count = request.likeliest,
                        tells = request.has_log_probs](AnswerText& text, const MadeToken& token) {
      exchange->on_token(i, text,
                         tells ? std::optional(told(served.model, token, count)) : std::nullopt);
    };
    jobs[i].on_end = [exchange, i](AnswerText& text, Ending ending) {
      exchange->on_end(i, text, ending);
    };
    jobs[i].on_error = [exchange](const Error& error) { exchange->on_error(error); };
  }
  if (auto taken = served.thread.submit(std::move(jobs)); !taken) {
    return std::unexpected(api_error(taken.error()));
  }
  exchange->open(exchange);
  return {};
}

using Reader = Asked<CompletionRequest> (*)(std::string_view body);

void take(const ServedModel& served, Reader read, const http::Request& request,
          const http::Answer& answer) {
  const auto begun = [&]() -> Asked<void> {
    try {
      return begin(served, KEDGE_TRY(read(request.body)), request.has_left, answer);
    } catch (const std::exception& error) {  // this is the connections' thread
      warn("{}: {}", request.path, error.what());
      return std::unexpected(ApiError{.status = 500, .message = error.what()});
    }
  }();
  if (!begun) {
    answer(error_answer(begun.error()));
  }
}

}  // namespace

void add_routes(http::Router& router, const ServedModel& served) {
  using http::Method;
  router.set_unknown({.hint = "/v1/chat/completions, /v1/completions, /v1/models, /health",
                      .refuse = refuse_as_openai});
  const http::RouteOptions asked = {.refuse = refuse_as_openai};
  const http::RouteOptions open = {.role = http::Role::None, .refuse = refuse_as_openai};
  const http::RouteOptions posted = {
      .max_body_bytes = kMaxBody, .is_long = true, .refuse = refuse_as_openai};
  const auto add = [&](std::string path, Reader read) {
    router.add_quick(Method::Post, std::move(path), posted,
                     [&served, read](const http::Request& request, const http::Answer& answer) {
                       take(served, read, request, answer);
                     });
  };
  add("/v1/chat/completions", read_chat_request);
  add("/v1/completions", read_completion_request);
  router.add(Method::Get, "/v1/models", asked, [&served](const http::Request&) {
    return Result<http::Response>(
        http::json_response(render_models(served.name, served.started_s)));
  });
  router.add(Method::Get, "/v1/models/{name...}", asked, [&served](const http::Request& request) {
    const auto known = check_model(served, request.parameter("name"));
    return Result<http::Response>(
        known ? http::json_response(render_model(served.name, served.started_s))
              : error_answer(known.error()));
  });
  router.add(Method::Get, "/health", open, [](const http::Request&) {
    return Result<http::Response>(http::json_response(R"({"status":"ok"})"));
  });
}

}  // namespace kedge::use
