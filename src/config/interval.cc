#include "config/interval.h"

#include <charconv>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace kedge::config {
namespace {

struct Counted {
  std::int64_t count = 0;
  std::string_view unit;  // as written; empty when there is none
};

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') {
    text.remove_prefix(1);
  }
  while (!text.empty() && text.back() == ' ') {
    text.remove_suffix(1);
  }
  return text;
}

// "500 steps", "3": a whole number from 0 on and perhaps a word.
std::optional<Counted> split_count(std::string_view text) {
  Counted counted;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), counted.count);
  if (error != std::errc{} || counted.count < 0) {
    return std::nullopt;
  }
  counted.unit = trim(text.substr(static_cast<std::size_t>(end - text.data())));
  return counted;
}

bool is_epochs(std::string_view unit) {
  return unit.empty() || unit == "epoch" || unit == "epochs";
}

bool is_steps(std::string_view unit) {
  return unit == "step" || unit == "steps";
}

std::unexpected<Error> not_understood(std::string_view text, std::string_view forms) {
  return fail(ErrorKind::Usage, fmt::format("'{}' is not understood; write {}", text, forms));
}

}  // namespace

Result<SaveInterval> parse_save_interval(std::string_view text) {
  const std::string_view trimmed = trim(text);
  if (trimmed == "auto") {
    return SaveInterval{.is_auto = true};
  }
  if (trimmed == "never") {
    return SaveInterval{};
  }
  if (const auto counted = split_count(trimmed)) {
    if (is_epochs(counted->unit)) {
      return SaveInterval{.epochs = counted->count};
    }
    if (is_steps(counted->unit)) {
      return SaveInterval{.steps = counted->count};
    }
  }
  if (const auto time = parse_seconds(trimmed); time && time->value > 0) {
    return SaveInterval{.time = *time};
  }
  return not_understood(text, "auto, never, 2 epochs, 500 steps or a time such as 10m");
}

Result<SaveInterval> parse_keep_interval(std::string_view text) {
  auto interval = parse_save_interval(text);
  if (!interval || interval->is_auto || interval->time.value > 0) {
    return not_understood(text, "never, 10 epochs or 5000 steps");
  }
  return interval;
}

Result<Crash> parse_crash(std::string_view text) {
  const std::string_view trimmed = trim(text);
  if (trimmed == "never") {
    return Crash{};
  }
  if (trimmed == "random") {
    return Crash{.is_random = true};
  }
  const std::size_t space = trimmed.find(' ');
  if (space != std::string_view::npos) {
    const std::string_view unit = trimmed.substr(0, space);
    const auto counted = split_count(trim(trimmed.substr(space)));
    if (counted && counted->count > 0 && counted->unit.empty()) {
      if (is_epochs(unit)) {
        return Crash{.epoch = counted->count};
      }
      if (is_steps(unit)) {
        return Crash{.step = counted->count};
      }
    }
  }
  return not_understood(text, "never, random, epoch 3 or step 120");
}

}  // namespace kedge::config
