#include "data/tokenizer/gguf_tokenizer.h"

#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace kedge::data {
namespace {

using nlohmann::json;

constexpr const char* kLlama3Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3})"
    R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kQwen2Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N})"
    R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

// Kinds of tokens in "tokenizer.ggml.token_type".
enum TokenKind : std::int64_t { kControl = 3, kUserDefined = 4 };

json byte_level(bool use_regex) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", false},
          {"trim_offsets", true},
          {"use_regex", use_regex}};
}

json split_by(const char* pattern) {
  return {{"type", "Sequence"},
          {"pretokenizers",
           {{{"type", "Split"},
             {"pattern", {{"Regex", pattern}}},
             {"behavior", "Isolated"},
             {"invert", false}},
            byte_level(false)}}};
}

// How llama.cpp's names of pre-tokenizers split text.
const std::map<std::string, json>& pre_tokenizers() {
  static const std::map<std::string, json> all = {
      {"gpt-2", byte_level(true)},
      {"smollm",
       {{"type", "Sequence"},
        {"pretokenizers", {{{"type", "Digits"}, {"individual_digits", true}}, byte_level(true)}}}},
      {"llama-bpe", split_by(kLlama3Pattern)},
      {"qwen2", split_by(kQwen2Pattern)},
  };
  return all;
}

json added_tokens(const json& tokens, const json& kinds) {
  json added = json::array();
  for (std::size_t id = 0; id < tokens.size() && id < kinds.size(); ++id) {
    const auto kind = kinds[id].get<std::int64_t>();
    if (kind == kControl || kind == kUserDefined) {
      added.push_back({{"id", id},
                       {"content", tokens[id]},
                       {"single_word", false},
                       {"lstrip", false},
                       {"rstrip", false},
                       {"normalized", false},
                       {"special", kind == kControl}});
    }
  }
  return added;
}

}  // namespace

Result<std::string> tokenizer_json_of_gguf(const json& facts, std::string_view where) {
  const std::string model = facts.value("tokenizer.ggml.model", "");
  const std::string pre = facts.value("tokenizer.ggml.pre", "gpt-2");
  const auto found = pre_tokenizers().find(pre == "default" ? "gpt-2" : pre);
  if (model != "gpt2" || found == pre_tokenizers().end()) {
    return fail(
        ErrorKind::Usage,
        fmt::format("{} has a tokenizer of kind '{}', '{}', which is not known", where, model, pre),
        "name the model's tokenizer.json with --tokenizer");
  }
  const json& tokens = facts.value("tokenizer.ggml.tokens", json::array());
  const json& kinds = facts.value("tokenizer.ggml.token_type", json::array());
  json vocab = json::object();
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    if (!tokens[id].is_string() || (id < kinds.size() && !kinds[id].is_number_integer())) {
      return fail(ErrorKind::Corrupt, fmt::format("{}: token {} has no text", where, id));
    }
    vocab[tokens[id].get<std::string>()] = id;
  }
  const json whole = {{"version", "1.0"},
                      {"added_tokens", added_tokens(tokens, kinds)},
                      {"normalizer", pre == "qwen2" ? json{{"type", "NFC"}} : json()},
                      {"pre_tokenizer", found->second},
                      {"post_processor", nullptr},
                      {"decoder", byte_level(true)},
                      {"model",
                       {{"type", "BPE"},
                        {"vocab", std::move(vocab)},
                        {"merges", facts.value("tokenizer.ggml.merges", json::array())},
                        {"ignore_merges", pre == "llama-bpe"}}}};
  return whole.dump();
}

}  // namespace kedge::data
