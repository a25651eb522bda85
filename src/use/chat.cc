#include "use/chat.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "core/log.h"
#include "device/plugin.h"
#include "train/torch_guard.h"
#include "use/internal/answer_text.h"
#include "use/internal/chat_prompts.h"
#include "use/internal/text_batch.h"

namespace kedge::use {
namespace {

constexpr std::int64_t kContext = 8192;

volatile std::sig_atomic_t wants_end = 0;

// Ctrl-C ends an answer, and not the program, while it lives.
class CatchInterrupts {
 public:
  CatchInterrupts() {
    struct sigaction action = {};
    action.sa_handler = [](int) { wants_end = 1; };
    action.sa_flags = SA_RESTART;  // a line that is being typed is only begun anew
    ::sigaction(SIGINT, &action, &before_);
  }

  CatchInterrupts(const CatchInterrupts&) = delete;
  CatchInterrupts& operator=(const CatchInterrupts&) = delete;

  ~CatchInterrupts() { ::sigaction(SIGINT, &before_, nullptr); }

 private:
  struct sigaction before_ = {};
};

class Session {
 public:
  Session(const LanguageModel& model, ChatPrompts prompts, const ChatOptions& options,
          std::int64_t room)
      : model_(model),
        prompts_(std::move(prompts)),
        settings_(options.settings),
        batch_(model, 1, room) {
    if (!options.system.empty()) {
      messages_.push_back({{"role", "system"}, {"content", options.system}});
    }
  }

  // Prints what the model says to it.
  Result<void> hear(const std::string& text) {
    messages_.push_back({{"role", "user"}, {"content", text}});
    TextRequest request{.tokens = KEDGE_TRY(prompts_.encode(messages_)),
                        .sampling = settings_.sampling,
                        .max_tokens = settings_.max_tokens,
                        .keeps = true};
    const std::int64_t left = batch_.room() - std::ssize(request.tokens);
    if (left < 1) {
      return fail(ErrorKind::Usage,
                  fmt::format("the conversation has {} tokens, and there is room for {}",
                              request.tokens.size(), batch_.room()),
                  "begin a new one, or give it more --context");
    }
    request.max_tokens = std::min(request.max_tokens, left);
    const std::string answer = KEDGE_TRY(speak(std::move(request)));
    messages_.push_back({{"role", "assistant"}, {"content", answer}});
    return {};
  }

 private:
  Result<std::string> speak(TextRequest request) {
    wants_end = 0;
    AnswerText answer(model_, settings_.stops);
    Result<void> outcome;
    batch_.begin(0, std::move(request));
    while (!batch_.is_idle()) {
      batch_.advance({.on_token =
                          [&](std::size_t, const MadeToken& token) {
                            const auto wish = answer.push(token.id);
                            if (!wish) {
                              outcome = std::unexpected(wish.error());
                            }
                            show(answer.take_new());
                            return wish.value_or(Wish::Enough);
                          },
                      .on_end = [](std::size_t, Ending) {}});
      if (wants_end != 0) {
        batch_.end(0);
      }
    }
    KEDGE_TRY(std::move(outcome));
    answer.finish();
    show(answer.take_new() + "\n");
    return answer.text();
  }

  static void show(const std::string& text) {
    fmt::print("{}", text);
    std::fflush(stdout);
  }

  const LanguageModel& model_;
  ChatPrompts prompts_;
  const AnswerSettings& settings_;
  TextBatch batch_;
  data::ChatJson messages_ = data::ChatJson::array();
};

// The next line of standard input; nothing at its end.
std::optional<std::string> ask(bool is_terminal) {
  if (is_terminal) {
    fmt::print(stderr, "> ");
  }
  std::string line;
  if (!std::getline(std::cin, line)) {
    if (is_terminal) {
      fmt::print(stderr, "\n");
    }
    return std::nullopt;
  }
  return line;
}

Result<void> talk(const LanguageModel& model, const ChatOptions& options) {
  const std::int64_t room = KEDGE_TRY(text_room(model, options.context, kContext));
  Session session(model, KEDGE_TRY(ChatPrompts::load(model)), options, room);
  const bool is_terminal = ::isatty(STDIN_FILENO) != 0;
  std::optional<CatchInterrupts> interrupts;
  if (is_terminal) {
    interrupts.emplace();
  }
  if (!options.first.empty()) {
    KEDGE_TRY(session.hear(options.first));
    if (!is_terminal) {
      return {};
    }
  } else if (is_terminal) {
    say("Ctrl-C ends an answer, Ctrl-D the conversation");
  }
  while (const auto line = ask(is_terminal)) {
    if (!line->empty()) {
      KEDGE_TRY(session.hear(*line));
    }
  }
  return {};
}

}  // namespace

Result<void> run_chat(const ChatOptions& options) {
  KEDGE_TRY(check_settings(options.settings));
  device::open();
  return train::catch_torch([&]() -> Result<void> {
    const LanguageModel model = KEDGE_TRY(open_language_model(options.model));
    return talk(model, options);
  });
}

}  // namespace kedge::use
