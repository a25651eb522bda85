#include "data/tokenizer/internal/tokenizer_json.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "data/tokenizer/internal/byte_letters.h"
#include "data/tokenizer/internal/json_facts.h"
#include "data/tokenizer/internal/model_json.h"

namespace kedge::data {
namespace {

using Json = nlohmann::json;

// An id this far above the number of tokens is a mistake, not a table to make.
constexpr std::size_t kMostGaps = std::size_t{1} << 20U;

Result<AddedToken> read_added_token(const Json& json) {
  const Json id = json.is_object() ? json.value("id", Json()) : Json();
  if (!id.is_number_unsigned() || id > 0x7FFFFFFF) {
    return fail(ErrorKind::Corrupt, fmt::format("added_tokens: {} has no id", json.dump()));
  }
  AddedToken token{.content = KEDGE_TRY(text_of(json, "content")), .id = id.get<TokenId>()};
  token.is_special = KEDGE_TRY(flag_of(json, "special", false));
  token.is_single_word = KEDGE_TRY(flag_of(json, "single_word", false));
  token.strips_left = KEDGE_TRY(flag_of(json, "lstrip", false));
  token.strips_right = KEDGE_TRY(flag_of(json, "rstrip", false));
  token.is_normalized = KEDGE_TRY(flag_of(json, "normalized", !token.is_special));
  if (token.content.empty()) {
    return fail(ErrorKind::Corrupt, fmt::format("added_tokens: token {} has no text", token.id));
  }
  return token;
}

Result<std::vector<AddedToken>> read_added_tokens(const Json& json) {
  std::vector<AddedToken> tokens;
  if (json.is_null()) {
    return tokens;
  }
  if (!json.is_array()) {
    return fail(ErrorKind::Corrupt, "\"added_tokens\" is not a list");
  }
  for (const Json& token : json) {
    tokens.push_back(KEDGE_TRY(read_added_token(token)));
  }
  return tokens;
}

Result<void> place_added_token(const AddedToken& token, TokenizerParts& parts) {
  const auto [known, is_new] = parts.names.emplace(token.content, token.id);
  if (!is_new && known->second != token.id) {
    return fail(ErrorKind::Corrupt, fmt::format("added_tokens: '{}' is {} there and {} in the "
                                                "vocabulary",
                                                token.content, token.id, known->second));
  }
  std::string content = token.content;
  if (token.is_normalized) {
    parts.normalizer.apply(content);
  }
  if (!content.empty()) {
    (token.is_normalized ? parts.added_normalized : parts.added).add(token, content);
  }
  return {};
}

// What an id is in text, from the token's text in the file.
TokenizerParts::Piece make_piece(const std::string& token, const DecodeRules& rules) {
  TokenizerParts::Piece piece{.text = token, .exists = true};
  unsigned byte = 0;
  if (rules.kind == DecodeRules::Kind::Bytes) {
    piece.text = bytes_of_letters(token).value_or(token);
  } else if (rules.has_byte_tokens && token.size() == 6 && token.starts_with("<0x") &&
             token.ends_with('>') && std::sscanf(token.c_str(), "<0x%2X>", &byte) == 1) {
    piece.text = std::string(1, static_cast<char>(byte));
    piece.is_byte = true;
  }
  for (const auto& [from, to] : rules.replacements) {
    for (std::size_t at = 0;
         !from.empty() && !piece.is_byte && (at = piece.text.find(from, at)) != std::string::npos;
         at += to.size()) {
      piece.text.replace(at, from.size(), to);
    }
  }
  return piece;
}

Result<void> make_pieces(const std::vector<AddedToken>& added, TokenizerParts& parts) {
  std::size_t largest = 0;
  for (const auto& [token, id] : parts.names) {
    largest = std::max<std::size_t>(largest, id);
  }
  if (largest > parts.names.size() + kMostGaps) {
    return fail(ErrorKind::Corrupt,
                fmt::format("there are {} tokens, but an id is {}", parts.names.size(), largest));
  }
  parts.pieces.resize(largest + 1);
  for (const auto& [token, id] : parts.names) {
    if (parts.pieces[id].exists) {
      return fail(ErrorKind::Corrupt, fmt::format("two tokens have the id {}", id));
    }
    parts.pieces[id] = make_piece(token, parts.decode_rules);
  }
  for (const AddedToken& token : added) {
    parts.pieces[token.id].is_special = token.is_special;
  }
  return {};
}

Result<void> check_ids(const std::vector<TokenId>& ids, const TokenizerParts& parts) {
  for (const TokenId id : ids) {
    if (id >= parts.pieces.size() || !parts.pieces[id].exists) {
      return fail(ErrorKind::Corrupt, fmt::format("post_processor: no token has the id {}", id));
    }
  }
  return {};
}

Result<TokenId> read_pair_id(const Json& json, const char* key) {
  const Json pair = json.value(key, Json());
  if (!pair.is_array() || pair.size() != 2 || !pair[1].is_number_unsigned()) {
    return fail(ErrorKind::Corrupt, fmt::format("post_processor: no \"{}\" with its id", key));
  }
  return pair[1].get<TokenId>();
}

// {"single": [{"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}], "special_tokens": ...}
Result<void> read_template(const Json& json, TokenizerParts& parts) {
  std::vector<TokenId> before;
  std::vector<TokenId> after;
  bool is_after = false;
  const Json tokens = json.value("special_tokens", Json::object());
  for (const Json& item : json.value("single", Json::array())) {
    if (item.is_object() && item.contains("Sequence")) {
      is_after = true;
      continue;
    }
    const Json special = item.is_object() ? item.value("SpecialToken", Json()) : Json();
    const Json name = special.is_object() ? special.value("id", Json()) : Json();
    const bool is_known =
        name.is_string() && tokens.is_object() && tokens.contains(name.get<std::string>());
    const Json ids = is_known ? tokens[name.get<std::string>()].value("ids", Json()) : Json();
    if (!ids.is_array()) {
      return fail(ErrorKind::Corrupt,
                  fmt::format("post_processor: {} in the template is not known", item.dump()));
    }
    for (const Json& id : ids) {
      if (!id.is_number_unsigned()) {
        return fail(ErrorKind::Corrupt, fmt::format("post_processor: {} is no id", id.dump()));
      }
      (is_after ? after : before).push_back(id.get<TokenId>());
    }
  }
  if (!is_after) {
    return fail(ErrorKind::Corrupt, "post_processor: the template has no place for the text");
  }
  parts.before.insert(parts.before.begin(), before.begin(), before.end());
  parts.after.insert(parts.after.end(), after.begin(), after.end());
  return {};
}

Result<void> read_post_processor(const Json& json, TokenizerParts& parts) {
  if (json.is_null()) {
    return {};
  }
  const std::string type = KEDGE_TRY(type_of(json, "post_processor"));
  if (type == "Sequence" && json.contains("processors") && json["processors"].is_array()) {
    for (const Json& part : json["processors"]) {
      KEDGE_TRY(read_post_processor(part, parts));
    }
  } else if (type == "TemplateProcessing") {
    KEDGE_TRY(read_template(json, parts));
  } else if (type == "BertProcessing" || type == "RobertaProcessing") {
    parts.before.insert(parts.before.begin(), KEDGE_TRY(read_pair_id(json, "cls")));
    parts.after.push_back(KEDGE_TRY(read_pair_id(json, "sep")));
  } else if (type != "ByteLevel") {  // which changes only offsets
    return unknown_part("post_processor", type);
  }
  return {};
}

Result<TokenizerParts> read_parts(const Json& json) {
  const auto model = json.find("model");
  if (!json.is_object() || model == json.end() || !model->is_object()) {
    return fail(ErrorKind::Corrupt, "no \"model\": this is no tokenizer.json");
  }
  TokenizerParts parts;
  parts.normalizer = KEDGE_TRY(Normalizer::read(json.value("normalizer", Json())));
  parts.splitter = KEDGE_TRY(Splitter::read(json.value("pre_tokenizer", Json())));
  parts.decode_rules = KEDGE_TRY(DecodeRules::read(json.value("decoder", Json())));
  parts.names = KEDGE_TRY(read_vocabulary(*model));
  parts.model = KEDGE_TRY(read_model(*model, parts.names, parts.splitter.is_byte_level()));
  const auto added = KEDGE_TRY(read_added_tokens(json.value("added_tokens", Json())));
  for (const AddedToken& token : added) {
    KEDGE_TRY(place_added_token(token, parts));
  }
  KEDGE_TRY(make_pieces(added, parts));
  KEDGE_TRY(read_post_processor(json.value("post_processor", Json()), parts));
  KEDGE_TRY(check_ids(parts.before, parts));
  KEDGE_TRY(check_ids(parts.after, parts));
  return parts;
}

}  // namespace

Result<TokenizerParts> read_tokenizer_json(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) {
    return fail(ErrorKind::Corrupt, "it is not JSON");
  }
  return read_parts(json);
}

}  // namespace kedge::data
