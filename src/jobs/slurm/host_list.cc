#include "jobs/slurm/host_list.h"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>

#include <fmt/format.h>

namespace kedge::jobs::slurm {
namespace {

constexpr std::size_t kMost = 100'000;

std::optional<std::int64_t> parse_whole(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value >= 0
             ? std::optional(value)
             : std::nullopt;
}

std::unexpected<Error> refused(std::string_view text) {
  return fail(ErrorKind::Usage, fmt::format("'{}' is no list of hosts", text));
}

// What stands between brackets, each with its leading zeros: "01-03,07".
Result<std::vector<std::string>> expand_numbers(std::string_view text) {
  std::vector<std::string> numbers;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view piece = text.substr(0, comma);
    text = comma == std::string_view::npos ? "" : text.substr(comma + 1);
    const std::size_t dash = piece.find('-');
    const auto first = parse_whole(piece.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_whole(piece.substr(dash + 1));
    if (!first || !last || *last < *first ||
        static_cast<std::size_t>(*last - *first) >= kMost - numbers.size()) {
      return refused(piece);
    }
    const std::size_t width = piece.substr(0, dash).size();
    for (std::int64_t number = *first; number <= *last; ++number) {
      numbers.push_back(fmt::format("{:0{}}", number, width));
    }
  }
  return numbers;
}

// One name with any number of brackets: "rack[1-2]node[1-8]".
Result<std::vector<std::string>> expand_name(std::string_view name) {
  std::vector<std::string> hosts = {""};
  while (!name.empty()) {
    const std::size_t open = name.find('[');
    for (std::string& host : hosts) {
      host += name.substr(0, open);
    }
    if (open == std::string_view::npos) {
      break;
    }
    const std::size_t close = name.find(']', open);
    if (close == std::string_view::npos) {
      return refused(name);
    }
    const auto numbers = KEDGE_TRY(expand_numbers(name.substr(open + 1, close - open - 1)));
    if (numbers.empty() || hosts.size() * numbers.size() > kMost) {
      return refused(name);
    }
    std::vector<std::string> longer;
    for (const std::string& host : hosts) {
      for (const std::string& number : numbers) {
        longer.push_back(host + number);
      }
    }
    hosts = std::move(longer);
    name.remove_prefix(close + 1);
  }
  return hosts;
}

}  // namespace

Result<std::vector<std::string>> expand_host_list(std::string_view text) {
  std::vector<std::string> hosts;
  std::size_t start = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const bool is_end = i == text.size() || (text[i] == ',' && depth == 0);
    if (!is_end) {
      depth += text[i] == '[' ? 1 : text[i] == ']' ? -1 : 0;
      continue;
    }
    if (i == start) {
      return refused(text);
    }
    for (std::string& host : KEDGE_TRY(expand_name(text.substr(start, i - start)))) {
      hosts.push_back(std::move(host));
    }
    if (hosts.size() > kMost) {
      return refused(text);
    }
    start = i + 1;
  }
  return hosts;
}

}  // namespace kedge::jobs::slurm
