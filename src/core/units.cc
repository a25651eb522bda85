#include "core/units.h"

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <vector>

#include <fmt/format.h>

namespace kedge {
namespace {

// Takes a number off the front of `text`; false when there is none.
bool take_number(std::string_view& text, double& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || number < 0 || !std::isfinite(number)) {
    return false;
  }
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) {
    text.remove_prefix(1);
  }
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) {
    text.remove_suffix(1);
  }
  return text;
}

// HH:MM:SS or MM:SS, with days in front as "D-".
Result<Seconds> parse_clock(std::string_view text) {
  const auto bad = [whole = text] {
    return fail(ErrorKind::Usage, fmt::format("'{}' is not a duration", whole),
                "write 90s, 15m, 2h30m, 1d or HH:MM:SS");
  };
  double days = 0;
  if (const std::size_t dash = text.find('-'); dash != std::string_view::npos) {
    std::string_view front = text.substr(0, dash);
    if (!take_number(front, days) || !front.empty()) {
      return bad();
    }
    text.remove_prefix(dash + 1);
  }
  double total = 0;
  for (;;) {
    double part = 0;
    if (!take_number(text, part)) {
      return bad();
    }
    total = total * 60 + part;
    if (text.empty()) {
      return Seconds{days * 86400 + total};
    }
    if (text.front() != ':') {
      return bad();
    }
    text.remove_prefix(1);
  }
}

double seconds_per(std::string_view unit) {
  if (unit == "ms") {
    return 1e-3;
  }
  if (unit == "s" || unit == "sec") {
    return 1;
  }
  if (unit == "m" || unit == "min") {
    return 60;
  }
  if (unit == "h") {
    return 3600;
  }
  if (unit == "d") {
    return 86400;
  }
  return 0;
}

}  // namespace

Result<Bytes> parse_bytes(std::string_view text) {
  std::string_view rest = trim(text);
  double number = 0;
  const auto bad = [&] {
    return fail(ErrorKind::Usage, fmt::format("'{}' is not a size", text),
                "write 512, 64MB, 1.5GiB or 4G");
  };
  if (!take_number(rest, number)) {
    return bad();
  }
  rest = trim(rest);
  if (!rest.empty() && (rest.back() == 'B' || rest.back() == 'b')) {
    rest.remove_suffix(1);
  }
  double base = 1000;
  if (!rest.empty() && rest.back() == 'i') {
    base = 1024;
    rest.remove_suffix(1);
  }
  if (rest.empty()) {
    return Bytes{static_cast<std::uint64_t>(number)};
  }
  constexpr std::string_view kPrefixes = "KMGTP";
  const std::size_t power =
      kPrefixes.find(static_cast<char>(std::toupper(static_cast<unsigned char>(rest.front()))));
  if (rest.size() != 1 || power == std::string_view::npos) {
    return bad();
  }
  return Bytes{static_cast<std::uint64_t>(number * std::pow(base, static_cast<double>(power + 1)))};
}

std::string render_bytes(Bytes bytes) {
  constexpr std::array<std::string_view, 6> kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  auto value = static_cast<double>(bytes.value);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes.value)
                   : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

Result<Seconds> parse_seconds(std::string_view text) {
  std::string_view rest = trim(text);
  if (rest.find(':') != std::string_view::npos) {
    return parse_clock(rest);
  }
  double total = 0;
  bool any = false;
  while (!rest.empty()) {
    double number = 0;
    if (!take_number(rest, number)) {
      any = false;
      break;
    }
    std::size_t letters = 0;
    while (letters < rest.size() && std::isalpha(static_cast<unsigned char>(rest[letters])) != 0) {
      ++letters;
    }
    const double scale = letters == 0 ? 1 : seconds_per(rest.substr(0, letters));
    if (scale == 0) {
      any = false;
      break;
    }
    total += number * scale;
    any = true;
    rest = trim(rest.substr(letters));
  }
  if (!any) {
    return fail(ErrorKind::Usage, fmt::format("'{}' is not a duration", text),
                "write 90s, 15m, 2h30m, 1d or HH:MM:SS");
  }
  return Seconds{total};
}

std::string render_seconds(Seconds seconds) {
  const double s = seconds.value;
  if (s < 1) {
    return fmt::format("{:.0f}ms", s * 1000);
  }
  if (s < 60) {
    return fmt::format("{:.1f}s", s);
  }
  const auto whole = static_cast<std::uint64_t>(std::llround(s));
  if (whole < 3600) {
    return fmt::format("{}m{:02}s", whole / 60, whole % 60);
  }
  if (whole < 86400) {
    return fmt::format("{}h{:02}m", whole / 3600, whole / 60 % 60);
  }
  return fmt::format("{}d{:02}h", whole / 86400, whole / 3600 % 24);
}

std::string render_count(double count) {
  constexpr std::string_view kUnits = "kMGT";
  if (std::abs(count) < 1000) {
    return fmt::format("{:.4g}", count);
  }
  std::size_t unit = 0;
  count /= 1000;
  while (std::abs(count) >= 1000 && unit + 1 < kUnits.size()) {
    count /= 1000;
    ++unit;
  }
  return fmt::format("{:.3g}{}", count, kUnits[unit]);
}

std::string render_grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t i = digits.size(); i > 3; i -= 3) {
    digits.insert(i - 3, ",");
  }
  return digits;
}

}  // namespace kedge
