#include "data/tokenizer/internal/decode_rules.h"

#include <nlohmann/json.hpp>

#include "data/tokenizer/internal/json_facts.h"

namespace kedge::data {
namespace {

using Json = nlohmann::json;

// The parts of a Sequence, which real files have in this order.
Result<void> add_part(const Json& part, bool& is_fused, DecodeRules& rules) {
  const std::string type = KEDGE_TRY(type_of(part, "decoder"));
  if (type == "Replace" && !is_fused && part.contains("pattern") && part["pattern"].is_object() &&
      part["pattern"].contains("String")) {
    rules.replacements.emplace_back(KEDGE_TRY(text_of(part["pattern"], "String")),
                                    KEDGE_TRY(text_of(part, "content")));
    return {};
  }
  if (type == "ByteFallback" && !is_fused) {
    rules.has_byte_tokens = true;
    return {};
  }
  if (type == "Fuse") {
    is_fused = true;
    return {};
  }
  if (type == "Strip" && is_fused && part.value("stop", Json(0)) == 0 &&
      part.value("start", Json()).is_number_unsigned()) {
    rules.strip = KEDGE_TRY(text_of(part, "content", " "));
    rules.strip_most = part["start"].get<std::size_t>();
    return {};
  }
  return unknown_part("decoder in this place of a Sequence:", type);
}

}  // namespace

Result<DecodeRules> DecodeRules::read(const Json& json) {
  DecodeRules rules;
  if (json.is_null()) {
    return rules;
  }
  const std::string type = KEDGE_TRY(type_of(json, "decoder"));
  if (type == "ByteLevel") {
    rules.kind = Kind::Bytes;
  } else if (type == "Metaspace") {
    rules.kind = Kind::Marks;
    rules.replacements.emplace_back(KEDGE_TRY(text_of(json, "replacement", "\u2581")), " ");
    const bool has_prefix = KEDGE_TRY(flag_of(json, "add_prefix_space", true));
    const bool is_kept =
        KEDGE_TRY(text_of(json, "prepend_scheme", has_prefix ? "always" : "never")) == "never";
    rules.kind = is_kept ? Kind::Pieces : Kind::Marks;
  } else if (type == "WordPiece") {
    rules.kind = Kind::WordParts;
    rules.prefix = KEDGE_TRY(text_of(json, "prefix", "##"));
    rules.tidies = KEDGE_TRY(flag_of(json, "cleanup", true));
  } else if (type == "Sequence" && json.contains("decoders") && json["decoders"].is_array()) {
    rules.kind = Kind::Pieces;
    bool is_fused = false;
    for (const Json& part : json["decoders"]) {
      KEDGE_TRY(add_part(part, is_fused, rules));
    }
  } else {
    return unknown_part("decoder", type);
  }
  return rules;
}

}  // namespace kedge::data
