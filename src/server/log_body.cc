#include "server/log_body.h"

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace kedge::server {
namespace {

constexpr std::size_t kMaxKeyBytes = 1024;

// Called by the parser for each piece of the text; false ends it.
class LogReader {
 public:
  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = nlohmann::json::string_t;
  using binary_t = nlohmann::json::binary_t;

  bool null() { return refuse("null"); }

  bool boolean(bool value) { return take_value(value ? 1 : 0); }

  bool number_integer(number_integer_t value) { return take_integer(value); }

  bool number_unsigned(number_unsigned_t value) {
    constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
    return value <= static_cast<number_unsigned_t>(kMax)
               ? take_integer(static_cast<std::int64_t>(value))
               : take_value(static_cast<double>(value));
  }

  bool number_float(number_float_t value, const string_t& text) {
    (void)text;
    return take_value(value);
  }

  bool string(string_t& text);

  bool binary(binary_t& bytes) {
    (void)bytes;
    return refuse("bytes");
  }

  bool start_object(std::size_t size);
  bool end_object();
  bool start_array(std::size_t size);
  bool end_array();
  bool key(string_t& name);

  bool parse_error(std::size_t position, const std::string& token,
                   const nlohmann::json::exception& error) {
    (void)token;
    (void)error;
    return fail_with(fmt::format("the body is not JSON: see byte {}", position));
  }

  Result<std::vector<store::LogPoint>> finish();

  const std::string& message() const { return message_; }

 private:
  enum class Place : std::uint8_t { Outside, Top, Points, Point, Values, Done };

  bool take_integer(std::int64_t value);
  bool take_value(double value);
  bool refuse(std::string_view what);
  bool fail_with(std::string message);

  Place place_ = Place::Outside;
  std::string name_;
  std::vector<store::LogPoint> points_;
  std::size_t first_value_ = 0;  // points_ from here on came from "values"
  bool has_values_ = false;
  std::optional<std::int64_t> step_;
  std::int64_t time_us_ = 0;
  std::optional<double> epoch_;
  bool has_key_ = false;
  bool has_step_ = false;
  bool has_value_ = false;
  std::string message_;
};

bool LogReader::fail_with(std::string message) {
  if (message_.empty()) {
    message_ = std::move(message);
  }
  return false;
}

bool LogReader::refuse(std::string_view what) {
  const std::string where =
      place_ == Place::Point ? fmt::format(" of point {}", points_.size() - 1) : "";
  return fail_with(name_.empty() ? fmt::format("the body must be an object, not {}", what)
                                 : fmt::format("'{}'{} cannot be {}", name_, where, what));
}

bool LogReader::start_object(std::size_t) {
  switch (place_) {
    case Place::Outside:
      place_ = Place::Top;
      return true;
    case Place::Top:
      if (name_ == "values") {
        place_ = Place::Values;
        has_values_ = true;
        first_value_ = points_.size();
        return true;
      }
      return refuse("an object");
    case Place::Points:
      place_ = Place::Point;
      points_.emplace_back();
      has_key_ = has_step_ = has_value_ = false;
      return true;
    default:
      return refuse("an object");
  }
}

bool LogReader::end_object() {
  if (place_ == Place::Top) {
    place_ = Place::Done;
  } else if (place_ == Place::Values) {
    place_ = Place::Top;
  } else {
    place_ = Place::Points;
    if (!has_key_ || !has_step_ || !has_value_) {
      return fail_with(fmt::format("point {} has no {}", points_.size() - 1,
                                   !has_key_    ? "key"
                                   : !has_step_ ? "step"
                                                : "value"));
    }
  }
  return true;
}

bool LogReader::start_array(std::size_t) {
  if (place_ != Place::Top || name_ != "points") {
    return refuse("a list");
  }
  place_ = Place::Points;
  return true;
}

bool LogReader::end_array() {
  place_ = Place::Top;
  return true;
}

bool LogReader::key(string_t& name) {
  name_ = name;
  if (place_ != Place::Values) {
    return true;
  }
  if (name.empty() || name.size() > kMaxKeyBytes) {
    return fail_with(fmt::format("a key has 1 to {} bytes", kMaxKeyBytes));
  }
  points_.emplace_back().key = std::move(name);
  return true;
}

bool LogReader::string(string_t& text) {
  if (place_ == Place::Point && name_ == "key") {
    if (text.empty() || text.size() > kMaxKeyBytes) {
      return fail_with(fmt::format("a key has 1 to {} bytes", kMaxKeyBytes));
    }
    has_key_ = true;
    points_.back().key = std::move(text);
    return true;
  }
  if (place_ == Place::Point && name_ == "kind" && (text == "metric" || text == "system")) {
    points_.back().kind = text == "system" ? store::MetricKind::System : store::MetricKind::Metric;
    return true;
  }
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const bool is_value = place_ == Place::Values || name_ == "value";
  if (is_value && text == "NaN") {
    return take_value(std::numeric_limits<double>::quiet_NaN());
  }
  if (is_value && (text == "Infinity" || text == "-Infinity")) {
    return take_value(text.front() == '-' ? -kInfinity : kInfinity);
  }
  return refuse(fmt::format("the text '{}'", text.substr(0, 40)));
}

bool LogReader::take_integer(std::int64_t value) {
  if (place_ == Place::Top && name_ == "step") {
    step_ = value;
    return true;
  }
  if (place_ == Place::Top && name_ == "time_us") {
    time_us_ = value;
    return true;
  }
  if (place_ == Place::Point && name_ == "step") {
    has_step_ = true;
    points_.back().step = value;
    return true;
  }
  if (place_ == Place::Point && name_ == "time_us") {
    points_.back().time_us = value;
    return true;
  }
  return take_value(static_cast<double>(value));
}

bool LogReader::take_value(double value) {
  if (place_ == Place::Values) {
    points_.back().value = value;
    return true;
  }
  if (place_ == Place::Point && name_ == "value") {
    has_value_ = true;
    points_.back().value = value;
    return true;
  }
  if (place_ == Place::Top && name_ == "epoch") {
    epoch_ = value;
    return true;
  }
  return refuse(fmt::format("{}", value));
}

Result<std::vector<store::LogPoint>> LogReader::finish() {
  if (has_values_ && !step_) {
    return fail(ErrorKind::Usage, "'values' needs a 'step' beside it");
  }
  for (std::size_t i = has_values_ ? first_value_ : points_.size(); i < points_.size(); ++i) {
    points_[i].step = step_.value_or(0);
    points_[i].time_us = time_us_;
  }
  if (epoch_ && !points_.empty()) {
    store::LogPoint epoch{.key = "epoch", .value = *epoch_};
    epoch.step = points_.back().step;
    epoch.time_us = points_.back().time_us;
    points_.push_back(std::move(epoch));
  }
  return std::move(points_);
}

}  // namespace

Result<std::vector<store::LogPoint>> parse_log(std::string_view text) {
  LogReader reader;
  if (!nlohmann::json::sax_parse(text, &reader)) {
    return fail(ErrorKind::Usage, reader.message());
  }
  return reader.finish();
}

}  // namespace kedge::server
