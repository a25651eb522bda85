#include "data/chat/chat_format.h"

#include <array>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "checkpoint/gguf.h"
#include "data/tokenizer/gguf_tokenizer.h"

namespace kedge::data {
namespace {

using nlohmann::json;

// A template's text and what to call it.
struct Source {
  std::string text;
  std::string where;
};

// {} where there is no such file.
Result<json> read_facts(const Path& path) {
  if (!std::filesystem::exists(path)) {
    return Result<json>(std::in_place, json::object());
  }
  json facts = json::parse(KEDGE_TRY(read_file(path)), nullptr, /*allow_exceptions=*/false);
  if (!facts.is_object()) {
    return fail(ErrorKind::Corrupt, fmt::format("{} is not a JSON object", path.string()));
  }
  return Result<json>(std::in_place, std::move(facts));
}

// "</s>", also from {"content": "</s>"}.
std::string token_text(const json& facts, const char* key) {
  const json value = facts.value(key, json());
  const json text = value.is_object() ? value.value("content", json()) : value;
  return text.is_string() ? text.get<std::string>() : "";
}

// One template, or several by name, of which "default" is the one for conversations.
std::string template_text(const json& facts) {
  const json value = facts.value("chat_template", json());
  if (value.is_string()) {
    return value.get<std::string>();
  }
  for (const json& one : value.is_array() ? value : json::array()) {
    if (one.is_object() && one.value("name", json()) == "default" &&
        one.value("template", json()).is_string()) {
      return one["template"].get<std::string>();
    }
  }
  return "";
}

Result<Source> read_folder(const Path& folder, ChatWords& words) {
  const json config = KEDGE_TRY(read_facts(folder / "tokenizer_config.json"));
  const json names = KEDGE_TRY(read_facts(folder / "special_tokens_map.json"));
  const auto find = [&](const char* key) {
    const std::string text = token_text(config, key);
    return text.empty() ? token_text(names, key) : text;
  };
  words.bos_token = find("bos_token");
  words.eos_token = find("eos_token");
  const Path file = folder / "chat_template.jinja";
  if (std::filesystem::exists(file)) {
    return Source{KEDGE_TRY(read_file(file)), file.string()};
  }
  return Source{template_text(config),
                (folder / "tokenizer_config.json").string() + ": chat_template"};
}

Result<Source> read_gguf(const Path& path, ChatWords& words) {
  const auto file = KEDGE_TRY(checkpoint::open_gguf(path));
  const json& facts = file->facts();
  const json tokens = facts.value("tokenizer.ggml.tokens", json::array());
  const auto find = [&](const char* key) {
    const json id = facts.value(key, json());
    const bool is_there = id.is_number_unsigned() && id.get<std::size_t>() < tokens.size();
    return is_there ? tokens[id.get<std::size_t>()].get<std::string>() : "";
  };
  words.bos_token = find("tokenizer.ggml.bos_token_id");
  words.eos_token = find("tokenizer.ggml.eos_token_id");
  return Source{facts.value("tokenizer.chat_template", ""),
                path.string() + ": tokenizer.chat_template"};
}

bool is_gguf_file(const Path& model) {
  return std::filesystem::is_regular_file(model) && checkpoint::is_gguf(model);
}

Result<Source> read_source(const Path& model, ChatWords& words) {
  std::error_code ignored;
  if (!std::filesystem::exists(model, ignored)) {
    return fail(ErrorKind::NotFound, fmt::format("{} is not there", model.string()),
                "data.tokenizer names a folder with tokenizer.json, or a .gguf file");
  }
  if (is_gguf_file(model)) {
    return read_gguf(model, words);
  }
  return read_folder(std::filesystem::is_directory(model) ? model : model.parent_path(), words);
}

Result<Tokenizer> load_tokenizer(const Path& model) {
  if (!is_gguf_file(model)) {
    return Tokenizer::load(model);
  }
  const auto file = KEDGE_TRY(checkpoint::open_gguf(model));
  return Tokenizer::parse(KEDGE_TRY(tokenizer_json_of_gguf(file->facts(), model.string())));
}

}  // namespace

Result<ChatWords> load_chat_words(const Path& model, const Path& chat_template) {
  ChatWords words;
  Source source = KEDGE_TRY(read_source(model, words));
  if (!chat_template.empty()) {
    source = {KEDGE_TRY(read_file(chat_template)), chat_template.string()};
  }
  if (!source.text.empty()) {
    words.chat = KEDGE_TRY(ChatTemplate::parse(source.text, source.where));
  }
  return words;
}

Result<ChatFormat> load_chat_format(const Path& model, const Path& chat_template) {
  ChatWords words = KEDGE_TRY(load_chat_words(model, chat_template));
  ChatFormat format{std::move(words), KEDGE_TRY(load_tokenizer(model))};
  const auto find = [&](const std::string& token) {
    return token.empty() ? std::nullopt : format.tokenizer.find(token);
  };
  format.bos = find(format.bos_token);
  format.eos = find(format.eos_token);
  return format;
}

}  // namespace kedge::data
