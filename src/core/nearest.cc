#include "core/nearest.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace kedge {
namespace {

// Edit distance where swapping two neighbours counts once, because that is how people mistype.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> above(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(above.begin(), above.end(), std::size_t{0});
  const auto same = [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) ==
           std::tolower(static_cast<unsigned char>(y));
  };
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = same(a[i - 1], b[j - 1]) ? 0 : 1;
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + change});
      if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1])) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

}  // namespace

std::string nearest_name(std::string_view wrong, std::span<const std::string> valid) {
  std::string best;
  std::size_t best_distance = 1 + std::max<std::size_t>(2, wrong.size() / 3);
  for (const std::string& name : valid) {
    const std::size_t distance = edit_distance(wrong, name);
    if (distance < best_distance) {
      best = name;
      best_distance = distance;
    }
  }
  return best;
}

std::vector<std::string> by_nearness(std::string_view wrong, std::vector<std::string> names) {
  std::ranges::stable_sort(names, {},
                           [wrong](const std::string& name) { return edit_distance(wrong, name); });
  return names;
}

Error unknown_name(std::string_view kind, std::string_view name,
                   std::span<const std::string> valid) {
  std::string message = fmt::format("unknown {} '{}'", kind, name);
  if (const std::string near = nearest_name(name, valid); !near.empty()) {
    message += fmt::format("; did you mean '{}'?", near);
  }
  return {ErrorKind::Usage, message, fmt::format("known: {}", fmt::join(valid, ", "))};
}

}  // namespace kedge
