#include "data/internal/chat_tokens.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "data/tokenizer/internal/tokenizer_parts.h"

namespace kedge::data {
namespace {

constexpr const char* kNoTemplateHint =
    "name a file with one as data.chat_template, or write {prompt, completion} records, which are "
    "trained on as plain text";

}  // namespace

Result<ChatFormat> open_chat_format(const config::DataConfig& config) {
  if (config.tokenizer.empty()) {
    return fail(ErrorKind::Usage, fmt::format("data.name={} needs a tokenizer", config.name),
                "set data.tokenizer to a model's folder, .gguf file or tokenizer.json, or train "
                "such a model with model.file");
  }
  return load_chat_format(config.tokenizer, config.chat_template);
}

AroundText find_around(const ChatFormat& format) {
  const TokenizerParts& parts = format.tokenizer.parts();
  return {.before = parts.before, .after = parts.after};
}

ChatEncoder::ChatEncoder(const ChatFormat& format, config::TrainOn train_on)
    : format_(format),
      train_on_(train_on),
      around_(find_around(format)),
      chat_encoder_(format.tokenizer, {.special_tokens = true}),
      plain_encoder_(format.tokenizer) {}

Result<MarkedTokens> ChatEncoder::encode(const Conversation& conversation) {
  MarkedTokens tokens;
  if (format_.chat) {
    tokens = KEDGE_TRY(encode_rendered(conversation));
  } else if (conversation.plain) {
    tokens = KEDGE_TRY(encode_plain(*conversation.plain));
  } else {
    return fail(ErrorKind::Usage, "the tokenizer has no chat template", kNoTemplateHint);
  }
  if (tokens.ids.size() > 1 && tokens.ids[0] == tokens.ids[1] && is_bos(tokens.ids[0])) {
    return fail(ErrorKind::Usage,
                fmt::format("it begins with '{}' twice",
                            format_.tokenizer.parts().pieces[tokens.ids[0]].text),
                "the template and the text both write it: take it out of one of them");
  }
  if (train_on_ == config::TrainOn::All) {
    std::ranges::fill(tokens.marks, std::uint8_t{1});
  }
  return tokens;
}

bool ChatEncoder::is_bos(TokenId id) const {
  return id == format_.bos || (!around_.before.empty() && id == around_.before.front());
}

Result<MarkedTokens> ChatEncoder::encode_rendered(const Conversation& conversation) {
  const ChatInput input{.messages = conversation.messages,
                        .tools = conversation.tools,
                        .bos_token = format_.bos_token,
                        .eos_token = format_.eos_token};
  if (train_on_ == config::TrainOn::All) {
    const std::string text = KEDGE_TRY(format_.chat->render(input));
    MarkedTokens tokens;
    chat_encoder_.encode(text, tokens.ids);
    tokens.marks.resize(tokens.ids.size());
    return tokens;
  }
  const RenderedChat rendered = KEDGE_TRY(format_.chat->render_marked(input));
  std::vector<ByteRange> learnt;
  for (std::size_t i = conversation.given; i < rendered.generated.size(); ++i) {
    learnt.emplace_back(rendered.generated[i].begin, rendered.generated[i].end);
  }
  return encode_marked(format_.tokenizer, chat_encoder_, rendered.text, learnt);
}

Result<MarkedTokens> ChatEncoder::encode_plain(const Conversation::Plain& plain) {
  const std::string text = plain.prompt + plain.completion;
  MarkedTokens tokens = KEDGE_TRY(
      encode_marked(format_.tokenizer, plain_encoder_, text, {{plain.prompt.size(), text.size()}}));
  tokens.ids.insert(tokens.ids.begin(), around_.before.begin(), around_.before.end());
  tokens.marks.insert(tokens.marks.begin(), around_.before.size(), 0);
  std::vector<TokenId> end = around_.after;
  if (end.empty() && format_.eos) {
    end.push_back(*format_.eos);
  }
  tokens.ids.insert(tokens.ids.end(), end.begin(), end.end());
  tokens.marks.insert(tokens.marks.end(), end.size(), 1);
  return tokens;
}

}  // namespace kedge::data
