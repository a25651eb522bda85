// Values as text: Python's str() and repr(), and json.dumps().
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include <fmt/format.h>
#include <utf8proc.h>

#include "core/utf8.h"
#include "data/chat/internal/jinja_value.h"

namespace kedge::data::jinja {
namespace {

// The shortest text that reads back as the same number, as Python writes it.
std::string render_double(double value) {
  if (std::isnan(value)) {
    return "nan";
  }
  if (std::isinf(value)) {
    return value < 0 ? "-inf" : "inf";
  }
  const double size = std::abs(value);
  const bool is_plain = size == 0 || (size >= 1e-4 && size < 1e16);
  std::array<char, 64> buffer = {};
  const auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                    is_plain ? std::chars_format::fixed : std::chars_format::scientific);
  std::string text(buffer.data(), end.ptr);
  if (is_plain && !text.contains('.')) {
    text += ".0";
  }
  return text;
}

bool is_printable(char32_t character) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(character))) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
      return false;
    case UTF8PROC_CATEGORY_ZS:
      return character == ' ';
    default:
      return true;
  }
}

std::string escaped(char32_t character) {
  const auto code = static_cast<std::uint32_t>(character);
  return code < 0x100     ? fmt::format("\\x{:02x}", code)
         : code < 0x10000 ? fmt::format("\\u{:04x}", code)
                          : fmt::format("\\U{:08x}", code);
}

std::string repr_text(std::string_view text) {
  const char quote = text.contains('\'') && !text.contains('"') ? '"' : '\'';
  std::string out(1, quote);
  while (!text.empty()) {
    const std::string_view before = text;
    const char32_t character = take_character(text);
    if (character == '\\' || character == static_cast<char32_t>(quote)) {
      out += '\\';
      out += static_cast<char>(character);
    } else if (character == '\n' || character == '\r' || character == '\t') {
      out += character == '\n' ? "\\n" : character == '\r' ? "\\r" : "\\t";
    } else if (!is_printable(character)) {
      out += escaped(character);
    } else {
      out += before.substr(0, before.size() - text.size());
    }
  }
  return out + quote;
}

void escape_json(char32_t character, bool ascii, std::string_view bytes, std::string& out) {
  constexpr std::string_view kShort = "\b\f\n\r\t\"\\";
  constexpr std::string_view kLetters = "bfnrt\"\\";
  const auto code = static_cast<std::uint32_t>(character);
  const auto at = code < 0x80 ? kShort.find(static_cast<char>(code)) : std::string_view::npos;
  if (at != std::string_view::npos) {
    out += '\\';
    out += kLetters[at];
  } else if (code < 0x20 || (ascii && code >= 0x7F && code < 0x10000)) {
    out += fmt::format("\\u{:04x}", code);
  } else if (ascii && code >= 0x10000) {
    const std::uint32_t rest = code - 0x10000;
    out += fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (rest >> 10U), 0xDC00 + (rest & 0x3FFU));
  } else {
    out += bytes;
  }
}

std::string json_text(std::string_view text, bool ascii) {
  std::string out = "\"";
  while (!text.empty()) {
    const std::string_view before = text;
    const char32_t character = take_character(text);
    escape_json(character, ascii, before.substr(0, before.size() - text.size()), out);
  }
  return out + '"';
}

class JsonWriter {
 public:
  explicit JsonWriter(const JsonStyle& style) : style_(style) {}

  Result<void> write(const Value& value, int depth) {
    if (depth > kMaxNesting) {
      return fail(ErrorKind::Usage, "values are nested deeper than 100");
    }
    if (const auto* text = value.text()) {
      out_ += json_text(*text, style_.ascii);
    } else if (const auto* list = value.as<ListPtr>()) {
      return write_list(**list, depth);
    } else if (const auto* dict = value.as<DictPtr>()) {
      return write_dict(**dict, depth);
    } else if (const auto* flag = value.as<bool>()) {
      out_ += *flag ? "true" : "false";
    } else if (const auto* real = value.as<double>(); real != nullptr && !std::isfinite(*real)) {
      out_ += std::isnan(*real) ? "NaN" : *real < 0 ? "-Infinity" : "Infinity";
    } else if (is_number(value)) {
      out_ += KEDGE_TRY(str(value));
    } else if (value.is_none()) {
      out_ += "null";
    } else {
      return fail(ErrorKind::Usage,
                  fmt::format("tojson: '{}' cannot be written as JSON", type_name(value)));
    }
    return {};
  }

  std::string take() { return std::move(out_); }

 private:
  Result<void> write_list(const List& list, int depth) {
    out_ += '[';
    for (std::size_t i = 0; i < list.items.size(); ++i) {
      begin_item(i, depth + 1);
      KEDGE_TRY(write(list.items[i], depth + 1));
    }
    end_items(!list.items.empty(), depth);
    out_ += ']';
    return {};
  }

  Result<void> write_dict(const Dict& dict, int depth) {
    std::vector<const std::pair<std::string, Value>*> entries;
    for (const auto& entry : dict.entries) {
      entries.push_back(&entry);
    }
    if (style_.sort_keys) {
      std::ranges::stable_sort(entries, {}, [](const auto* entry) { return entry->first; });
    }
    out_ += '{';
    for (std::size_t i = 0; i < entries.size(); ++i) {
      begin_item(i, depth + 1);
      out_ += json_text(entries[i]->first, style_.ascii) + style_.key_separator;
      KEDGE_TRY(write(entries[i]->second, depth + 1));
    }
    end_items(!entries.empty(), depth);
    out_ += '}';
    return {};
  }

  void begin_item(std::size_t i, int depth) {
    out_ += i > 0 ? style_.item_separator : "";
    begin_line(depth);
  }

  void end_items(bool had_items, int depth) {
    if (had_items) {
      begin_line(depth);
    }
  }

  void begin_line(int depth) {
    if (style_.indent >= 0) {
      out_ += '\n' + std::string(static_cast<std::size_t>(style_.indent * depth), ' ');
    }
  }

  const JsonStyle& style_;
  std::string out_;
};

Result<std::string> repr_at(const Value& value, int depth);

Result<std::string> repr_list(const List& list, int depth) {
  std::string out(1, list.is_tuple ? '(' : '[');
  for (std::size_t i = 0; i < list.items.size(); ++i) {
    out += (i > 0 ? ", " : "") + KEDGE_TRY(repr_at(list.items[i], depth + 1));
  }
  out += list.is_tuple && list.items.size() == 1 ? "," : "";
  return out + (list.is_tuple ? ')' : ']');
}

Result<std::string> repr_dict(const Dict& dict, int depth) {
  std::string out = "{";
  for (const auto& [key, value] : dict.entries) {
    out += (out.size() > 1 ? ", " : "") + repr_text(key) + ": ";
    out += KEDGE_TRY(repr_at(value, depth + 1));
  }
  return out + "}";
}

Result<std::string> repr_at(const Value& value, int depth) {
  if (depth > kMaxNesting) {
    return fail(ErrorKind::Usage, "values are nested deeper than 100");
  }
  if (const auto* text = value.text()) {
    return repr_text(*text);
  }
  if (const auto* list = value.as<ListPtr>()) {
    return repr_list(**list, depth);
  }
  if (const auto* dict = value.as<DictPtr>()) {
    return repr_dict(**dict, depth);
  }
  if (const auto* flag = value.as<bool>()) {
    return std::string(*flag ? "True" : "False");
  }
  if (const auto* whole = value.as<std::int64_t>()) {
    return std::to_string(*whole);
  }
  if (const auto* real = value.as<double>()) {
    return render_double(*real);
  }
  if (value.is_none() || value.is_undefined()) {
    return std::string(value.is_none() ? "None" : "Undefined");
  }
  return fail(ErrorKind::Usage, fmt::format("a {} cannot be printed", type_name(value)));
}

}  // namespace

Result<std::string> str(const Value& value) {
  if (const auto* text = value.text()) {
    return *text;
  }
  if (value.is_undefined()) {
    return std::string();
  }
  return repr_at(value, 0);
}

Result<std::string> repr(const Value& value) {
  return repr_at(value, 0);
}

Result<std::string> to_json(const Value& value, const JsonStyle& style) {
  JsonWriter writer(style);
  KEDGE_TRY(writer.write(value, 0));
  return writer.take();
}

}  // namespace kedge::data::jinja
