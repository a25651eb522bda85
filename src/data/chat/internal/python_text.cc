#include "data/chat/internal/python_text.h"

#include <algorithm>
#include <utility>

#include <utf8proc.h>

#include "core/utf8.h"

namespace kedge::data::jinja {
namespace {

void append(char32_t character, std::string& out) {
  std::uint8_t bytes[4] = {};
  const auto count = utf8proc_encode_char(static_cast<utf8proc_int32_t>(character), bytes);
  out.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(count));
}

template <typename Change>
std::string each(std::string_view text, Change change) {
  std::string out;
  while (!text.empty()) {
    append(change(take_character(text)), out);
  }
  return out;
}

char32_t to_lower(char32_t character) {
  return static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(character)));
}

char32_t to_upper(char32_t character) {
  return static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(character)));
}

bool is_letter(char32_t character) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(character));
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

bool is_in(char32_t character, const std::optional<std::string>& set) {
  if (!set) {
    return is_space(character);
  }
  for (std::string_view rest = *set; !rest.empty();) {
    if (take_character(rest) == character) {
      return true;
    }
  }
  return false;
}

// The last character, and where it begins.
std::size_t last_begin(std::string_view text) {
  std::size_t at = text.size() - 1;
  while (at > 0 && (static_cast<std::uint8_t>(text[at]) & 0xC0U) == 0x80U) {
    --at;
  }
  return at;
}

std::vector<std::string> split_at_space(std::string_view text, std::int64_t most) {
  std::vector<std::string> parts;
  text = strip_left(text);
  while (!text.empty()) {
    if (most >= 0 && static_cast<std::int64_t>(parts.size()) == most) {
      parts.emplace_back(text);
      return parts;
    }
    std::string_view rest = text;
    std::string_view before = rest;
    while (!rest.empty()) {
      before = rest;
      if (is_space(take_character(rest))) {
        break;
      }
      before = rest;
    }
    parts.emplace_back(text.substr(0, text.size() - before.size()));
    text = strip_left(before);
  }
  return parts;
}

std::vector<std::string> split_right_at_space(std::string_view text, std::int64_t most) {
  std::vector<std::string> parts;
  text = strip_right(text);
  while (!text.empty()) {
    if (most >= 0 && static_cast<std::int64_t>(parts.size()) == most) {
      parts.emplace_back(text);
      break;
    }
    std::size_t begin = text.size();
    while (begin > 0) {
      const std::size_t at = last_begin(text.substr(0, begin));
      std::string_view character = text.substr(at, begin - at);
      if (is_space(take_character(character))) {
        break;
      }
      begin = at;
    }
    parts.emplace_back(text.substr(begin));
    text = strip_right(text.substr(0, begin));
  }
  std::ranges::reverse(parts);
  return parts;
}

}  // namespace

bool is_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 ||
         c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
         c == 0x205F || c == 0x3000;
}

std::string_view strip_left(std::string_view text, const std::optional<std::string>& set) {
  for (std::string_view rest = text; !rest.empty(); text = rest) {
    if (!is_in(take_character(rest), set)) {
      break;
    }
  }
  return text;
}

std::string_view strip_right(std::string_view text, const std::optional<std::string>& set) {
  while (!text.empty()) {
    const std::size_t at = last_begin(text);
    std::string_view character = text.substr(at);
    if (!is_in(take_character(character), set)) {
      break;
    }
    text = text.substr(0, at);
  }
  return text;
}

std::string_view strip(std::string_view text, const std::optional<std::string>& set) {
  return strip_right(strip_left(text, set), set);
}

std::vector<std::string> split(std::string_view text, const std::optional<std::string>& separator,
                               std::int64_t most) {
  if (!separator) {
    return split_at_space(text, most);
  }
  std::vector<std::string> parts;
  std::size_t at = 0;
  while (most < 0 || static_cast<std::int64_t>(parts.size()) < most) {
    const std::size_t found = text.find(*separator, at);
    if (found == std::string_view::npos) {
      break;
    }
    parts.emplace_back(text.substr(at, found - at));
    at = found + separator->size();
  }
  parts.emplace_back(text.substr(at));
  return parts;
}

std::vector<std::string> split_right(std::string_view text,
                                     const std::optional<std::string>& separator,
                                     std::int64_t most) {
  if (!separator) {
    return split_right_at_space(text, most);
  }
  std::vector<std::string> parts;
  while (most < 0 || static_cast<std::int64_t>(parts.size()) < most) {
    const std::size_t found = text.rfind(*separator);
    if (found == std::string_view::npos) {
      break;
    }
    parts.emplace_back(text.substr(found + separator->size()));
    text = text.substr(0, found);
  }
  parts.emplace_back(text);
  std::ranges::reverse(parts);
  return parts;
}

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines;
  std::string_view line = text;
  while (!text.empty()) {
    const std::string_view before = text;
    const char32_t c = take_character(text);
    const bool ends = (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 ||
                      c == 0x2028 || c == 0x2029;
    if (!ends) {
      continue;
    }
    lines.emplace_back(line.substr(0, line.size() - before.size()));
    if (c == '\r' && text.starts_with('\n')) {
      text.remove_prefix(1);
    }
    line = text;
  }
  if (!line.empty()) {
    lines.emplace_back(line);
  }
  return lines;
}

std::string replace(std::string_view text, std::string_view from, std::string_view to,
                    std::int64_t most) {
  std::string out;
  std::int64_t done = 0;
  std::size_t at = 0;
  while ((most < 0 || done < most) && at <= text.size()) {
    const std::size_t found = text.find(from, at);
    if (found == std::string_view::npos) {
      break;
    }
    out.append(text, at, found - at);
    out += to;
    ++done;
    at = found + from.size();
    if (from.empty()) {  // between all characters
      std::string_view rest = text.substr(at);
      if (rest.empty()) {
        return out;
      }
      take_character(rest);
      out.append(text, at, text.size() - rest.size() - at);
      at = text.size() - rest.size();
    }
  }
  return out.append(text.substr(std::min(at, text.size())));
}

std::string lower(std::string_view text) {
  return each(text, to_lower);
}

std::string upper(std::string_view text) {
  return each(text, to_upper);
}

std::string capitalize(std::string_view text) {
  return each(text, [is_first = true](char32_t character) mutable {
    return std::exchange(is_first, false) ? to_upper(character) : to_lower(character);
  });
}

std::string title(std::string_view text) {
  return each(text, [in_word = false](char32_t character) mutable {
    const bool is_first = !std::exchange(in_word, is_letter(character));
    return is_first ? to_upper(character) : to_lower(character);
  });
}

}  // namespace kedge::data::jinja
