#include "use/internal/chat_prompts.h"

#include <ctime>
#include <utility>

#include <fmt/format.h>

namespace kedge::use {

Result<ChatPrompts> ChatPrompts::load(const LanguageModel& model) {
  const auto refuse = [&] {
    return fail(ErrorKind::Usage, fmt::format("{} has no chat template", model.path.string()),
                "it goes on with texts: kedge generate, or /v1/completions of kedge serve");
  };
  if (model.texts.empty()) {
    return refuse();
  }
  data::ChatWords words = KEDGE_TRY(data::load_chat_words(model.texts));
  if (!words.chat) {
    return refuse();
  }
  return ChatPrompts(std::move(words), *model.tokenizer);
}

Result<std::vector<std::int64_t>> ChatPrompts::encode(const data::ChatJson& messages,
                                                      const data::ChatJson& variables) const {
  const std::string text = KEDGE_TRY(words_.chat->render({.messages = messages,
                                                          .add_generation_prompt = true,
                                                          .bos_token = words_.bos_token,
                                                          .eos_token = words_.eos_token,
                                                          .variables = variables,
                                                          .now_s = std::time(nullptr)}));
  data::TokenEncoder encoder(tokenizer_, {.special_tokens = true});
  std::vector<data::TokenId> ids;
  encoder.encode(text, ids);
  return std::vector<std::int64_t>(ids.begin(), ids.end());
}

}  // namespace kedge::use
