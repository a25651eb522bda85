#include "store/internal/query_literal.h"

#include <charconv>
#include <chrono>
#include <cmath>
#include <optional>
#include <type_traits>

#include <fmt/format.h>

namespace kedge::store {
namespace {

constexpr std::int64_t kSecond = 1'000'000;
constexpr std::int64_t kMinute = 60 * kSecond;
constexpr std::int64_t kHour = 60 * kMinute;
constexpr std::int64_t kDay = 24 * kHour;

template <typename Number>
std::optional<Number> find_number(std::string_view text) {
  Number number{};
  text.remove_prefix(text.starts_with('+') ? 1 : 0);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return number;
}

bool is_same_word(std::string_view text, std::string_view word, std::string_view in_python) {
  return text == word || text == in_python;
}

Literal plain_literal(const std::string& text) {
  if (const auto integer = find_number<std::int64_t>(text)) {
    return *integer;
  }
  if (const auto number = find_number<double>(text)) {
    return *number;
  }
  if (is_same_word(text, "true", "True")) {
    return true;
  }
  if (is_same_word(text, "false", "False")) {
    return false;
  }
  if (is_same_word(text, "null", "None")) {
    return nullptr;
  }
  return text;
}

// Reads a fixed form from the front of a text.
class DateReader {
 public:
  explicit DateReader(std::string_view text) : rest_(text) {}

  bool take(char byte) {
    const bool is_there = rest_.starts_with(byte);
    rest_.remove_prefix(is_there ? 1 : 0);
    return is_there;
  }

  std::optional<int> digits(std::size_t count) {
    const auto number = find_number<int>(rest_.substr(0, count));
    if (!number || rest_.size() < count || rest_[0] == '-' || rest_[0] == '+') {
      return std::nullopt;
    }
    rest_.remove_prefix(count);
    return number;
  }

  // Behind the dot; at most six count.
  std::optional<std::int64_t> fraction_us() {
    std::int64_t sum = 0;
    std::int64_t unit = kSecond;
    std::size_t count = 0;
    for (; count < rest_.size() && rest_[count] >= '0' && rest_[count] <= '9'; ++count) {
      unit /= 10;
      sum += unit * (rest_[count] - '0');
    }
    rest_.remove_prefix(count);
    return count > 0 ? std::optional(sum) : std::nullopt;
  }

  bool is_at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

std::optional<std::int64_t> find_zone_us(DateReader& reader) {
  if (reader.is_at_end() || reader.take('Z') || reader.take('z')) {
    return 0;
  }
  const bool is_west = reader.take('-');
  if (!is_west && !reader.take('+')) {
    return std::nullopt;
  }
  const auto hours = reader.digits(2);
  reader.take(':');
  const auto minutes = reader.is_at_end() ? std::optional(0) : reader.digits(2);
  if (!hours || !minutes) {
    return std::nullopt;
  }
  return (is_west ? -1 : 1) * (*hours * kHour + *minutes * kMinute);
}

// The part behind the date, added to the day.
std::optional<Moment> find_clock(DateReader& reader, std::int64_t day_us) {
  const auto hour = reader.digits(2);
  const auto minute = reader.take(':') ? reader.digits(2) : std::nullopt;
  if (!hour || !minute || *hour > 23 || *minute > 59) {
    return std::nullopt;
  }
  Moment moment{day_us + *hour * kHour + *minute * kMinute, kMinute};
  if (reader.take(':')) {
    const auto second = reader.digits(2);
    if (!second || *second > 60) {
      return std::nullopt;
    }
    moment = {moment.start_us + *second * kSecond, kSecond};
    if (reader.take('.')) {
      const auto fraction = reader.fraction_us();
      if (!fraction) {
        return std::nullopt;
      }
      moment = {moment.start_us + *fraction, 1};
    }
  }
  const auto zone_us = find_zone_us(reader);
  if (!zone_us || !reader.is_at_end()) {
    return std::nullopt;
  }
  moment.start_us -= *zone_us;
  return moment;
}

std::int64_t day_us(std::chrono::year_month_day date) {
  return std::chrono::sys_days(date).time_since_epoch().count() * kDay;
}

Result<Literal> moment_literal(const Token& token, std::int64_t now_us) {
  if (const auto span_us = find_span_us(token.text); span_us && token.kind == TokenKind::Bare) {
    return Moment{now_us + *span_us, 1};
  }
  if (const auto moment = find_moment(token.text)) {
    return *moment;
  }
  const auto seconds = find_number<double>(token.text);
  constexpr double kMostSeconds = 9e12;  // of microseconds in an int64
  if (seconds && std::abs(*seconds) < kMostSeconds && token.kind == TokenKind::Bare) {
    return Moment{static_cast<std::int64_t>(*seconds * static_cast<double>(kSecond)), 1};
  }
  return std::unexpected(query_error(
      token.column, fmt::format("expected a time, got {}", shown(token)),
      "a time is \"2026-11-01\", \"2026-11-01 12:30\" (UTC), or counts from now: -7d, -2h30m"));
}

Result<Literal> duration_literal(const Token& token) {
  if (const auto number = find_number<double>(token.text)) {
    return *number;
  }
  if (const auto span_us = find_span_us(token.text)) {
    return static_cast<double>(*span_us) / static_cast<double>(kSecond);
  }
  return std::unexpected(query_error(token.column,
                                     fmt::format("expected a duration, got {}", shown(token)),
                                     "a duration is 90, 90s, 15m, 2h30m or 1d"));
}

// Wide enough for every int64 and every double.
std::optional<long double> number_in(const QueryValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    return static_cast<long double>(*integer);
  }
  if (const auto* number = std::get_if<double>(&value)) {
    return static_cast<long double>(*number);
  }
  return std::nullopt;
}

std::optional<long double> number_in(const Literal& literal) {
  if (const auto* integer = std::get_if<std::int64_t>(&literal)) {
    return static_cast<long double>(*integer);
  }
  if (const auto* number = std::get_if<double>(&literal)) {
    return static_cast<long double>(*number);
  }
  return std::nullopt;
}

template <typename T>
int order(const T& a, const T& b) {
  return a < b ? -1 : a > b ? 1 : 0;
}

}  // namespace

std::optional<std::int64_t> find_span_us(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  text.remove_prefix(is_negative || text.starts_with('+') ? 1 : 0);
  double sum_us = 0;
  bool has_any = false;
  while (!text.empty()) {
    const std::size_t unit_at = text.find_first_not_of("0123456789.");
    if (unit_at == std::string_view::npos || unit_at == 0) {
      return std::nullopt;
    }
    const auto number = find_number<double>(text.substr(0, unit_at));
    static constexpr std::string_view kUnits = "smhdw";
    static constexpr std::int64_t kLengths[] = {kSecond, kMinute, kHour, kDay, 7 * kDay};
    const std::size_t unit = kUnits.find(text[unit_at]);
    if (!number || unit == std::string_view::npos) {
      return std::nullopt;
    }
    sum_us += *number * static_cast<double>(kLengths[unit]);
    text.remove_prefix(unit_at + 1);
    has_any = true;
  }
  constexpr double kMost = 1e18;
  if (!has_any || sum_us > kMost) {
    return std::nullopt;
  }
  return (is_negative ? -1 : 1) * static_cast<std::int64_t>(sum_us);
}

std::optional<Moment> find_moment(std::string_view text) {
  using namespace std::chrono;
  DateReader reader(text);
  const auto year_number = reader.digits(4);
  if (!year_number) {
    return std::nullopt;
  }
  const year in_year{*year_number};
  if (reader.is_at_end()) {
    const std::int64_t start_us = day_us(in_year / January / 1);
    return Moment{start_us, day_us((in_year + years(1)) / January / 1) - start_us};
  }
  const auto month_number = reader.take('-') ? reader.digits(2) : std::nullopt;
  if (!month_number || *month_number < 1 || *month_number > 12) {
    return std::nullopt;
  }
  const year_month in_month = in_year / month(static_cast<unsigned>(*month_number));
  if (reader.is_at_end()) {
    const std::int64_t start_us = day_us(in_month / 1);
    return Moment{start_us, day_us((in_month + months(1)) / 1) - start_us};
  }
  const auto day_number = reader.take('-') ? reader.digits(2) : std::nullopt;
  const year_month_day date = in_month / day(static_cast<unsigned>(day_number.value_or(0)));
  if (!date.ok()) {
    return std::nullopt;
  }
  if (reader.is_at_end()) {
    return Moment{day_us(date), kDay};
  }
  if (!reader.take('T') && !reader.take(' ')) {
    return std::nullopt;
  }
  return find_clock(reader, day_us(date));
}

Result<Literal> literal_of(const Token& token, FieldType type, std::int64_t now_us) {
  if (token.kind != TokenKind::Bare && token.kind != TokenKind::Text) {
    return std::unexpected(
        query_error(token.column, fmt::format("expected a value, got {}", shown(token)),
                    "a value is a number, a word, a text between quotes, true, false or null"));
  }
  switch (type) {
    case FieldType::Time:
      return moment_literal(token, now_us);
    case FieldType::Duration:
      return duration_literal(token);
    case FieldType::Text:
      return token.text;
    case FieldType::Number:
    case FieldType::Any:
      break;
  }
  return token.kind == TokenKind::Text ? Literal(token.text) : plain_literal(token.text);
}

bool is_equal(const QueryValue& value, const Literal& literal) {
  if (const auto* text = std::get_if<std::string>(&literal)) {
    const auto* own = std::get_if<std::string_view>(&value);
    return own != nullptr && *own == *text;
  }
  if (const auto* truth = std::get_if<bool>(&literal)) {
    const auto* own = std::get_if<bool>(&value);
    return own != nullptr && *own == *truth;
  }
  if (std::holds_alternative<std::nullptr_t>(literal)) {
    return std::holds_alternative<std::nullptr_t>(value);
  }
  if (const auto* moment = std::get_if<Moment>(&literal)) {
    const auto* own = std::get_if<std::int64_t>(&value);
    return own != nullptr && *own >= moment->start_us &&
           *own < moment->start_us + moment->length_us;
  }
  const auto own = number_in(value);
  const auto other = number_in(literal);
  return own && other && (*own == *other || (std::isnan(*own) && std::isnan(*other)));
}

std::optional<int> find_order(const QueryValue& value, const Literal& literal) {
  if (const auto* text = std::get_if<std::string>(&literal)) {
    const auto* own = std::get_if<std::string_view>(&value);
    return own == nullptr ? std::nullopt : std::optional(order<std::string_view>(*own, *text));
  }
  if (const auto* moment = std::get_if<Moment>(&literal)) {
    const auto* own = std::get_if<std::int64_t>(&value);
    return own == nullptr ? std::nullopt : std::optional(order(*own, moment->start_us));
  }
  const auto own = number_in(value);
  const auto other = number_in(literal);
  if (!own || !other || std::isnan(*own) || std::isnan(*other)) {
    return std::nullopt;
  }
  return order(*own, *other);
}

}  // namespace kedge::store
