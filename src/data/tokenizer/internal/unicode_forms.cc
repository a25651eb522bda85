#include "data/tokenizer/internal/unicode_forms.h"

#include <array>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <utf8proc.h>

#include "core/result.h"
#include "core/utf8.h"

namespace kedge::data {
namespace {

constexpr char32_t kLast = 0x10FFFF;
constexpr int kHangulVowel = 0x1161;
constexpr int kHangulEnd = 0x11C3;

std::string mapped(std::string_view text, int options) {
  utf8proc_uint8_t* made = nullptr;
  const auto length = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                   static_cast<utf8proc_ssize_t>(text.size()), &made,
                                   static_cast<utf8proc_option_t>(options));
  KEDGE_CHECK(length >= 0, "the text is UTF-8 and there is memory");
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owned(made, &std::free);
  return {reinterpret_cast<const char*>(made), static_cast<std::size_t>(length)};
}

// Which characters may change, or change others, in NFC: text without one of them is NFC already.
std::vector<bool> find_unstable() {
  std::vector<bool> is_unstable(kLast + 1);
  for (int code = 0; code <= static_cast<int>(kLast); ++code) {
    const utf8proc_property_t* property = utf8proc_get_property(code);
    if (property->combining_class != 0) {
      is_unstable[static_cast<std::size_t>(code)] = true;
    }
    const bool is_surrogate = code >= 0xD800 && code < 0xE000;
    if (property->decomp_seqindex == UINT16_MAX || is_surrogate) {
      continue;
    }
    std::string one;
    append_character(one, static_cast<char32_t>(code));
    const std::string apart = mapped(one, UTF8PROC_STABLE | UTF8PROC_DECOMPOSE);
    is_unstable[static_cast<std::size_t>(code)] =
        mapped(apart, UTF8PROC_STABLE | UTF8PROC_COMPOSE) != one;
    if (apart != one) {  // what the first is joined with
      std::string_view rest = apart;
      take_character(rest);
      while (!rest.empty()) {
        is_unstable[take_character(rest)] = true;
      }
    }
  }
  for (int code = kHangulVowel; code < kHangulEnd; ++code) {
    is_unstable[static_cast<std::size_t>(code)] = true;
  }
  return is_unstable;
}

bool is_surely_nfc(std::string_view text) {
  static const std::vector<bool> is_unstable = find_unstable();
  while (!text.empty()) {
    if (static_cast<std::uint8_t>(text[0]) < 0xCC) {  // below U+0300 nothing changes
      text.remove_prefix(1);
    } else if (is_unstable[take_character(text)]) {
      return false;
    }
  }
  return true;
}

}  // namespace

void to_form(UnicodeForm form, std::string& text) {
  constexpr std::array<int, 4> kOptions = {UTF8PROC_COMPOSE, UTF8PROC_DECOMPOSE,
                                           UTF8PROC_COMPOSE | UTF8PROC_COMPAT,
                                           UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT};
  if (form == UnicodeForm::Nfc && is_surely_nfc(text)) {
    return;
  }
  text = mapped(text, UTF8PROC_STABLE | kOptions[static_cast<std::size_t>(form)]);
}

void to_lower_case(std::string& text) {
  constexpr char32_t kCapitalIWithDot = 0x130;
  std::string lower;
  std::string_view rest = text;
  while (!rest.empty()) {
    const char32_t character = take_character(rest);
    append_character(
        lower, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(character))));
    if (character == kCapitalIWithDot) {
      lower += "\u0307";
    }
  }
  text = std::move(lower);
}

void append_character(std::string& text, char32_t character) {
  std::array<utf8proc_uint8_t, 4> bytes{};
  const auto length = utf8proc_encode_char(static_cast<utf8proc_int32_t>(character), bytes.data());
  text.append(reinterpret_cast<const char*>(bytes.data()), static_cast<std::size_t>(length));
}

}  // namespace kedge::data
