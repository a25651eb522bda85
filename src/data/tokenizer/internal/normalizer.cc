#include "data/tokenizer/internal/normalizer.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/utf8.h"
#include "data/tokenizer/internal/character_set.h"
#include "data/tokenizer/internal/json_facts.h"
#include "data/tokenizer/internal/pattern.h"
#include "data/tokenizer/internal/unicode_forms.h"

namespace kedge::data {
namespace {

using Json = nlohmann::json;

// A set to ask of every character.
std::vector<bool> mask_of(const CharacterSet& set) {
  std::vector<bool> mask(kLastCharacter + 1);
  for (const CharacterSet::Range& range : set.ranges()) {
    std::fill(mask.begin() + range.first, mask.begin() + range.last + 1, true);
  }
  return mask;
}

// Calls `put` with what has been made and each character.
template <typename Put>
void rewrite(std::string& text, const Put& put) {
  std::string made;
  std::string_view rest = text;
  while (!rest.empty()) {
    put(made, take_character(rest));
  }
  text = std::move(made);
}

std::function<void(std::string&)> without(const CharacterSet& set) {
  return [mask = mask_of(set)](std::string& text) {
    rewrite(text, [&mask](std::string& made, char32_t character) {
      if (!mask[character]) {
        append_character(made, character);
      }
    });
  };
}

void strip(std::string& text, bool is_left, bool is_right) {
  static const std::vector<bool> is_space = mask_of(CharacterSet::white_space());
  std::size_t first = std::string::npos;
  std::size_t end = 0;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t at = text.size() - rest.size();
    if (!is_space[take_character(rest)]) {
      first = std::min(first, at);
      end = text.size() - rest.size();
    }
  }
  if (first == std::string::npos) {
    first = end = is_left || is_right ? text.size() : 0;
  }
  end = is_right ? end : text.size();
  first = is_left ? first : 0;
  text = first < end ? text.substr(first, end - first) : std::string();
}

// Control characters go, all kinds of space become one.
std::function<void(std::string&)> clean_as_bert() {
  CharacterSet gone = *CharacterSet::property("C");
  const CharacterSet cn = *CharacterSet::property("Cn");
  return [is_gone = mask_of(gone), is_unassigned = mask_of(cn),
          is_space = mask_of(CharacterSet::white_space())](std::string& text) {
    rewrite(text, [&](std::string& made, char32_t character) {
      if (is_space[character] &&
          (character < 0x20 ? character != 0xB && character != 0xC : character != 0x85)) {
        made += ' ';
      } else if (character != 0xFFFD && (!is_gone[character] || is_unassigned[character])) {
        append_character(made, character);
      }
    });
  };
}

void space_around_chinese(std::string& text) {
  constexpr std::array<std::pair<char32_t, char32_t>, 8> kIdeographs = {{{0x4E00, 0x9FFF},
                                                                         {0x3400, 0x4DBF},
                                                                         {0x20000, 0x2A6DF},
                                                                         {0x2A700, 0x2B73F},
                                                                         {0x2B740, 0x2B81F},
                                                                         {0x2B920, 0x2CEAF},
                                                                         {0xF900, 0xFAFF},
                                                                         {0x2F800, 0x2FA1F}}};
  rewrite(text, [&](std::string& made, char32_t character) {
    bool is_ideograph = false;
    for (const auto& [first, last] : kIdeographs) {
      is_ideograph = is_ideograph || (character >= first && character <= last);
    }
    made += is_ideograph ? " " : "";
    append_character(made, character);
    made += is_ideograph ? " " : "";
  });
}

}  // namespace

Result<Normalizer> Normalizer::read(const Json& json) {
  Normalizer normalizer;
  if (!json.is_null()) {
    KEDGE_TRY(normalizer.add(json));
  }
  return normalizer;
}

Result<void> Normalizer::add(const Json& json) {
  constexpr std::array<std::pair<std::string_view, UnicodeForm>, 4> kForms = {
      {{"NFC", UnicodeForm::Nfc},
       {"NFD", UnicodeForm::Nfd},
       {"NFKC", UnicodeForm::Nfkc},
       {"NFKD", UnicodeForm::Nfkd}}};
  const std::string type = KEDGE_TRY(type_of(json, "normalizer"));
  for (const auto& [name, form] : kForms) {
    if (type == name) {
      steps_.emplace_back([form](std::string& text) { to_form(form, text); });
      return {};
    }
  }
  if (type == "Sequence") {
    const auto parts = json.find("normalizers");
    if (parts == json.end() || !parts->is_array()) {
      return fail(ErrorKind::Corrupt, "normalizer: a Sequence without \"normalizers\"");
    }
    for (const Json& part : *parts) {
      KEDGE_TRY(add(part));
    }
  } else if (type == "Prepend") {
    steps_.emplace_back([before = KEDGE_TRY(text_of(json, "prepend"))](std::string& text) {
      text.insert(0, text.empty() ? "" : before);
    });
  } else if (type == "Strip") {
    steps_.emplace_back([is_left = KEDGE_TRY(flag_of(json, "strip_left", true)),
                         is_right = KEDGE_TRY(flag_of(json, "strip_right", true))](
                            std::string& text) { strip(text, is_left, is_right); });
  } else if (type == "StripAccents") {
    steps_.push_back(without(*CharacterSet::property("M")));
  } else if (type == "Lowercase") {
    steps_.emplace_back(to_lower_case);
  } else if (type == "Replace") {
    return add_replace(json);
  } else if (type == "BertNormalizer") {
    return add_bert(json);
  } else {
    return unknown_part("normalizer", type);
  }
  return {};
}

Result<void> Normalizer::add_replace(const Json& json) {
  const Json pattern = json.value("pattern", Json());
  const std::string content = KEDGE_TRY(text_of(json, "content"));
  if (pattern.is_object() && pattern.value("String", Json()) == " ") {  // every SentencePiece model
    steps_.emplace_back([content](std::string& text) {
      std::string made;
      for (const char byte : text) {
        byte == ' ' ? made += content : made += byte;
      }
      text = std::move(made);
    });
    return {};
  }
  auto compiled = std::make_shared<Pattern>(
      KEDGE_TRY(Pattern::compile(KEDGE_TRY(expression_of(json)), Dialect::Oniguruma)));
  steps_.emplace_back([compiled = std::move(compiled), content](std::string& text) {
    std::string made;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = compiled->match(text, at);
      if (end != Pattern::kNone) {
        made += content;
        at = end;
        continue;
      }
      std::string_view rest = std::string_view(text).substr(at);
      append_character(made, take_character(rest));
      at = text.size() - rest.size();
    }
    text = std::move(made);
  });
  return {};
}

Result<void> Normalizer::add_bert(const Json& json) {
  const bool is_lower = KEDGE_TRY(flag_of(json, "lowercase", true));
  if (KEDGE_TRY(flag_of(json, "clean_text", true))) {
    steps_.push_back(clean_as_bert());
  }
  if (KEDGE_TRY(flag_of(json, "handle_chinese_chars", true))) {
    steps_.emplace_back(space_around_chinese);
  }
  if (KEDGE_TRY(flag_of(json, "strip_accents", is_lower))) {
    steps_.emplace_back([](std::string& text) { to_form(UnicodeForm::Nfd, text); });
    steps_.push_back(without(*CharacterSet::property("Mn")));
  }
  if (is_lower) {
    steps_.emplace_back(to_lower_case);
  }
  return {};
}

void Normalizer::apply(std::string& text) const {
  for (const Step& step : steps_) {
    step(text);
  }
}

}  // namespace kedge::data
