#include "mlflow/internal/python_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace kedge::mlflow {
namespace {

// "-1.25e-07" as its sign, its digits "125" and the place of the point before them: -6.
struct Digits {
  bool is_negative = false;
  std::string digits;
  int point = 0;
};

Digits shortest_digits(double value) {
  std::array<char, 64> buffer{};
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                          std::chars_format::scientific);
  std::string_view text(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
  Digits result;
  result.is_negative = text.starts_with('-');
  text.remove_prefix(result.is_negative ? 1 : 0);
  const auto e = text.find('e');
  for (const char c : text.substr(0, e)) {
    if (c != '.') {
      result.digits += c;
    }
  }
  std::string_view exponent = text.substr(e + 1);
  exponent.remove_prefix(exponent.starts_with('+') ? 1 : 0);
  int number = 0;
  std::from_chars(exponent.data(), exponent.data() + exponent.size(), number);
  result.point = number + 1;
  return result;
}

bool is_integer_text(std::string_view text) {
  text.remove_prefix(text.starts_with('-') ? 1 : 0);
  const bool is_digits =
      !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  return is_digits && (text.size() == 1 || text[0] != '0');
}

std::string nested_text(const nlohmann::json& value) {
  return value.is_string() ? python_text(value.get_ref<const std::string&>()) : render_param(value);
}

}  // namespace

std::string python_float(double value) {
  if (std::isnan(value)) {
    return "nan";
  }
  if (std::isinf(value)) {
    return value > 0 ? "inf" : "-inf";
  }
  const Digits parts = shortest_digits(value);
  const auto count = static_cast<int>(parts.digits.size());
  std::string text = parts.is_negative ? "-" : "";
  if (parts.point < -3 || parts.point > 16) {
    text += parts.digits[0];
    if (count > 1) {
      text += "." + parts.digits.substr(1);
    }
    const int exponent = parts.point - 1;
    return text + fmt::format("e{}{:02}", exponent < 0 ? '-' : '+', std::abs(exponent));
  }
  if (parts.point <= 0) {
    return text + "0." + std::string(static_cast<std::size_t>(-parts.point), '0') + parts.digits;
  }
  if (count <= parts.point) {
    return text + parts.digits + std::string(static_cast<std::size_t>(parts.point - count), '0') +
           ".0";
  }
  const auto point = static_cast<std::size_t>(parts.point);
  return text + parts.digits.substr(0, point) + "." + parts.digits.substr(point);
}

std::string python_text(std::string_view text) {
  const bool is_double =
      text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos;
  const char quote = is_double ? '"' : '\'';
  std::string quoted(1, quote);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == quote || c == '\\') {
      quoted += fmt::format("\\{}", c);
    } else if (c == '\n') {
      quoted += "\\n";
    } else if (c == '\r') {
      quoted += "\\r";
    } else if (c == '\t') {
      quoted += "\\t";
    } else if (byte < 0x20 || byte == 0x7F) {
      quoted += fmt::format("\\x{:02x}", byte);
    } else {
      quoted += c;
    }
  }
  return quoted + quote;
}

std::string python_list(const std::vector<std::string>& texts) {
  std::vector<std::string> quoted;
  quoted.reserve(texts.size());
  for (const std::string& text : texts) {
    quoted.push_back(python_text(text));
  }
  return fmt::format("[{}]", fmt::join(quoted, ", "));
}

nlohmann::json parse_param(std::string_view text) {
  if (text == "True" || text == "False") {
    return text == "True";
  }
  const char* end = text.data() + text.size();
  if (is_integer_text(text)) {
    std::int64_t value = 0;
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error == std::errc() && stop == end && text != "-0") {
      return value;
    }
    return std::string(text);
  }
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc() && stop == end && std::isfinite(value) && python_float(value) == text) {
    return value;
  }
  return std::string(text);
}

std::string render_param(const nlohmann::json& value) {
  switch (value.type()) {
    case nlohmann::json::value_t::string:
      return value.get<std::string>();
    case nlohmann::json::value_t::boolean:
      return value.get<bool>() ? "True" : "False";
    case nlohmann::json::value_t::number_float:
      return python_float(value.get<double>());
    case nlohmann::json::value_t::array: {
      std::vector<std::string> parts;
      for (const nlohmann::json& entry : value) {
        parts.push_back(nested_text(entry));
      }
      return fmt::format("[{}]", fmt::join(parts, ", "));
    }
    case nlohmann::json::value_t::object: {
      std::vector<std::string> parts;
      for (const auto& [key, entry] : value.items()) {
        parts.push_back(fmt::format("{}: {}", python_text(key), nested_text(entry)));
      }
      return fmt::format("{{{}}}", fmt::join(parts, ", "));
    }
    case nlohmann::json::value_t::null:
      return "None";
    default:
      return value.dump();
  }
}

}  // namespace kedge::mlflow
