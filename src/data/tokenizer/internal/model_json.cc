#include "data/tokenizer/internal/model_json.h"

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "core/log.h"
#include "data/tokenizer/internal/byte_letters.h"
#include "data/tokenizer/internal/json_facts.h"
#include "data/tokenizer/internal/word_piece.h"

namespace kedge::data {
namespace {

// Whether texts have it: not control characters, what no UTF-8 has, and the first bytes of planes
// that have no characters (4 to 11). Many vocabularies lack these, and nobody misses them.
bool is_in_texts(std::size_t byte) {
  constexpr std::string_view kSpaces = "\t\n\v\f\r";
  const bool is_control =
      (byte < 0x20 && !kSpaces.contains(static_cast<char>(byte))) || byte == 0x7F;
  return !is_control && byte != 0xC0 && byte != 0xC1 && byte < 0xF5 && byte != 0xF1 && byte != 0xF2;
}

using Json = nlohmann::json;

constexpr std::int64_t kMostId = 0x7FFFFFFF;

Result<std::pair<std::string, std::string>> read_merge(const Json& merge, std::size_t number) {
  if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
    return std::pair(merge[0].get<std::string>(), merge[1].get<std::string>());
  }
  if (merge.is_string()) {
    const auto text = merge.get<std::string>();
    const std::size_t space = text.find(' ');
    if (space != std::string::npos && text.find(' ', space + 1) == std::string::npos) {
      return std::pair(text.substr(0, space), text.substr(space + 1));
    }
  }
  return fail(ErrorKind::Corrupt,
              fmt::format("model: merge {} is {}, not two tokens", number, merge.dump()));
}

Result<PairTable> read_merges(const Json& model, const TokenMap& names) {
  const auto merges = model.find("merges");
  if (merges == model.end() || !merges->is_array()) {
    return fail(ErrorKind::Corrupt, "model: no list of \"merges\"");
  }
  PairTable pairs(merges->size());
  std::uint32_t rank = 0;
  for (const Json& merge : *merges) {
    const auto [left, right] = KEDGE_TRY(read_merge(merge, rank));
    TokenId ids[3] = {};
    const std::string texts[3] = {left, right, left + right};
    for (int i = 0; i < 3; ++i) {
      const auto token = names.find(texts[i]);
      if (token == names.end()) {
        return fail(ErrorKind::Corrupt, fmt::format("model: merge {} needs '{}', which is not in "
                                                    "the vocabulary",
                                                    rank, texts[i]));
      }
      ids[i] = token->second;
    }
    pairs.add(ids[0], ids[1], {.rank = rank++, .merged = ids[2]});
  }
  return pairs;
}

// The tokens of bytes, by ByteLevel's letters or as "<0x0A>"; kNoToken for one that is missing.
std::array<TokenId, 256> read_bytes(const TokenMap& tokens, bool is_byte_level) {
  std::array<TokenId, 256> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto token = tokens.find(is_byte_level ? std::string(1, static_cast<char>(i))
                                                 : fmt::format("<0x{:02X}>", i));
    bytes[i] = token == tokens.end() ? kNoToken : token->second;
  }
  return bytes;
}

Result<TokenId> read_unknown(const Json& model, const TokenMap& names) {
  const std::string name = KEDGE_TRY(text_of(model, "unk_token"));
  const auto token = names.find(name);
  if (!name.empty() && token == names.end()) {
    return fail(ErrorKind::Corrupt,
                fmt::format("model: unk_token '{}' is not in the vocabulary", name));
  }
  return name.empty() ? kNoToken : token->second;
}

Result<std::unique_ptr<const TokenModel>> read_bpe(const Json& model, const TokenMap& names,
                                                   bool is_byte_level) {
  for (const char* affix : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (!KEDGE_TRY(text_of(model, affix)).empty()) {
      return unknown_part("model: BPE with a", affix);
    }
  }
  if (const Json dropout = model.value("dropout", Json()); !dropout.is_null() && dropout != 0.0) {
    return unknown_part("model: BPE with", "dropout");
  }
  BpeParts parts{.pairs = KEDGE_TRY(read_merges(model, names)),
                 .whole_first = KEDGE_TRY(flag_of(model, "ignore_merges", false)),
                 .tokens = {},
                 .is_over_bytes = is_byte_level,
                 .bytes = {},
                 .unknown = KEDGE_TRY(read_unknown(model, names)),
                 .fuses_unknown = KEDGE_TRY(flag_of(model, "fuse_unk", false))};
  for (const auto& [text, id] : names) {
    const auto bytes = is_byte_level ? bytes_of_letters(text) : text;
    if (bytes) {
      parts.tokens.emplace(*bytes, id);
    }
  }
  parts.bytes.fill(kNoToken);
  const bool falls_back = KEDGE_TRY(has_byte_tokens(model));
  if (is_byte_level || falls_back) {
    parts.bytes = read_bytes(parts.tokens, is_byte_level);
    std::vector<std::string> lost;
    for (std::size_t i = 0; i < parts.bytes.size(); ++i) {
      // Gemma's tab and line feed are tokens as they are, and have none as bytes.
      const bool is_character =
          i < 0x80 && parts.tokens.contains(std::string(1, static_cast<char>(i)));
      if (parts.bytes[i] != kNoToken || is_character) {
        continue;
      }
      if (!is_byte_level) {
        return fail(ErrorKind::Corrupt,
                    fmt::format("model: the vocabulary has no token for byte 0x{:02X}", i),
                    "a text with that byte would lose it");
      }
      if (is_in_texts(i) && parts.unknown == kNoToken) {
        lost.push_back(fmt::format("0x{:02X}", i));
      }
    }
    if (!lost.empty()) {
      warn(
          "the tokenizer has no token for the bytes {}: texts lose them, as in its makers' program",
          fmt::join(lost, ", "));
    }
  } else if (parts.unknown == kNoToken) {
    return fail(ErrorKind::Corrupt,
                "model: no \"unk_token\" and no \"byte_fallback\": a character that is not in the "
                "vocabulary would be lost");
  }
  return std::make_unique<const Bpe>(std::move(parts));
}

Result<std::unique_ptr<const TokenModel>> read_word_piece(const Json& model,
                                                          const TokenMap& names) {
  WordPieceParts parts{.tokens = names, .unknown = KEDGE_TRY(read_unknown(model, names))};
  parts.prefix = KEDGE_TRY(text_of(model, "continuing_subword_prefix", parts.prefix));
  const Json most = model.value("max_input_chars_per_word", Json(parts.most_characters));
  if (!most.is_number_unsigned() || parts.unknown == kNoToken) {
    return fail(ErrorKind::Corrupt,
                "model: WordPiece needs \"unk_token\" and \"max_input_chars_per_word\"");
  }
  parts.most_characters = most.get<std::size_t>();
  return std::make_unique<const WordPiece>(std::move(parts));
}

}  // namespace

Result<TokenMap> read_vocabulary(const Json& model) {
  const auto vocabulary = model.find("vocab");
  if (vocabulary == model.end() || !vocabulary->is_object() || vocabulary->empty()) {
    return fail(ErrorKind::Corrupt, "model: no \"vocab\" of tokens and their ids");
  }
  TokenMap names;
  names.reserve(vocabulary->size());
  for (const auto& [text, id] : vocabulary->items()) {
    if (!id.is_number_integer() || id < 0 || id > kMostId) {
      return fail(ErrorKind::Corrupt,
                  fmt::format("model: the id of token '{}' is {}", text, id.dump()));
    }
    names.emplace(text, id.get<TokenId>());
  }
  return names;
}

Result<bool> has_byte_tokens(const Json& model) {
  return flag_of(model, "byte_fallback", false);
}

Result<std::unique_ptr<const TokenModel>> read_model(const Json& model, const TokenMap& names,
                                                     bool is_byte_level) {
  // Files of tokenizers before 0.10 do not name it.
  const std::string type = KEDGE_TRY(text_of(model, "type", model.contains("merges") ? "BPE" : ""));
  if (type == "BPE") {
    return read_bpe(model, names, is_byte_level);
  }
  if (type == "WordPiece" && !is_byte_level) {
    return read_word_piece(model, names);
  }
  return unknown_part("model", type);
}

}  // namespace kedge::data
