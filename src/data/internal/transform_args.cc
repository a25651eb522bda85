#include "data/internal/transform_args.h"

#include <charconv>
#include <cmath>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace kedge::data {

Error wrong_args(const ArgsForm& form, const TransformArgs& args, std::string_view why) {
  const std::string_view name = form.form.substr(0, form.form.find(' '));
  return {ErrorKind::Usage,
          fmt::format("transform '{}{}{}': {}", name, args.empty() ? "" : " ", fmt::join(args, " "),
                      why),
          fmt::format("write `{}`", form.form)};
}

Result<std::vector<double>> parse_numbers(const ArgsForm& form, const TransformArgs& args) {
  if (args.size() < form.min_count || args.size() > form.max_count) {
    return std::unexpected(wrong_args(form, args, fmt::format("{} value(s) given", args.size())));
  }
  std::vector<double> numbers;
  for (const std::string& arg : args) {
    double value = 0;
    const auto [end, error] = std::from_chars(arg.data(), arg.data() + arg.size(), value);
    if (error != std::errc() || end != arg.data() + arg.size() || !(value >= 0) ||
        !std::isfinite(value)) {
      return std::unexpected(
          wrong_args(form, args, fmt::format("'{}' is not a number of at least 0", arg)));
    }
    numbers.push_back(value);
  }
  return numbers;
}

Result<std::vector<std::int64_t>> parse_sizes(const ArgsForm& form, const TransformArgs& args) {
  // Beyond this an image cannot be held; it also keeps products of two sizes in range.
  constexpr double kMaxSize = 65536;
  std::vector<std::int64_t> sizes;
  for (const double value : KEDGE_TRY(parse_numbers(form, args))) {
    const bool may_be_0 = !sizes.empty() && form.form.contains("[PADDING]");
    if (value != std::floor(value) || value > kMaxSize || (value < 1 && !may_be_0)) {
      return std::unexpected(
          wrong_args(form, args, fmt::format("{} is not a size in whole pixels", value)));
    }
    sizes.push_back(static_cast<std::int64_t>(value));
  }
  return sizes;
}

}  // namespace kedge::data
