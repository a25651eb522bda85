#include "exchange/line_metrics.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "exchange/csv_reader.h"

namespace kedge::exchange {
namespace {

// The first that a line has is its step.
constexpr std::array<std::string_view, 7> kStepNames = {"step", "global_step", "steps", "iteration",
                                                        "iter", "batch",       "epoch"};
constexpr std::string_view kEpoch = "epoch";

bool is_letter(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
}

bool is_name_part(char c) {
  return is_letter(c) || std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '/' || c == '.' ||
         c == '-' || c == '@';
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  });
  return out;
}

// The step's place in kStepNames; nothing: an ordinary name.
std::optional<std::size_t> step_rank(std::string_view name) {
  const auto found = std::ranges::find(kStepNames, lower(name));
  return found == kStepNames.end()
             ? std::nullopt
             : std::optional(static_cast<std::size_t>(found - kStepNames.begin()));
}

// Without what colours a terminal: ESC [ ... letter.
std::string without_colour(std::string_view line) {
  std::string out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\033' && i + 1 < line.size() && line[i + 1] == '[') {
      for (i += 2; i < line.size() && !is_letter(line[i]); ++i) {
      }
      continue;
    }
    out += line[i];
  }
  return out;
}

struct Number {
  double value = 0;
  bool is_whole = false;
  std::size_t end = 0;  // behind it
};

// The number that begins at `at` and ends where a word does: not 12s, not 1.2.3, not 8080/path.
std::optional<Number> number_at(std::string_view text, std::size_t at) {
  at += at < text.size() && text[at] == '+' ? 1 : 0;
  Number number;
  const char* const begin = text.data() + std::min(at, text.size());
  const auto parsed = std::from_chars(begin, text.data() + text.size(), number.value);
  if (parsed.ec != std::errc()) {
    return std::nullopt;
  }
  number.end = static_cast<std::size_t>(parsed.ptr - text.data());
  const std::string_view digits = text.substr(at, number.end - at);
  number.is_whole = digits.find_first_of(".eEn") == std::string_view::npos;
  constexpr std::string_view kEnds = " \t,;|)]}%/";
  const bool is_dot_at_end = number.end + 1 == text.size() && text[number.end] == '.';
  if (number.end < text.size() && !kEnds.contains(text[number.end]) && !is_dot_at_end) {
    return std::nullopt;
  }
  return number;
}

}  // namespace

// A name and what follows it: "=0.12", ": 0.12", and a bare blank only behind a word for steps
// ("epoch 3/10").
std::vector<LineMetrics::Pair> LineMetrics::read_text(std::string_view line) {
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < line.size();) {
    const bool begins = is_letter(line[i]) && (i == 0 || !is_name_part(line[i - 1]));
    if (!begins) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < line.size() && is_name_part(line[end])) {
      ++end;
    }
    const std::string name(line.substr(i, end - i));
    i = end;
    std::size_t at = std::min(line.find_first_not_of(" \t", end), line.size());
    const bool has_equals = at < line.size() && line[at] == '=';
    // "host:8080" is no metric: a colon has a blank behind it.
    const bool has_colon = at + 1 < line.size() && line[at] == ':' && line[at + 1] == ' ';
    if (has_equals || has_colon) {
      at = std::min(line.find_first_not_of(" \t", at + 1), line.size());
    } else if (!step_rank(name) || at == end) {
      continue;
    }
    at += at < line.size() && line[at] == '[' ? 1 : 0;
    const auto number = number_at(line, at);
    const bool is_fraction = number && number->end < line.size() && line[number->end] == '/';
    if (number && (!is_fraction || step_rank(name))) {
      pairs.push_back({name, number->value});
      i = number->end;
    }
  }
  return pairs;
}

std::vector<LineMetrics::Pair> LineMetrics::read_json(std::string_view line) {
  std::vector<Pair> pairs;
  const auto json = nlohmann::json::parse(line, nullptr, false);
  if (!json.is_object()) {
    return pairs;
  }
  const nlohmann::json flat = json.flatten();
  for (const auto& [path, value] : flat.items()) {
    std::string name = path.substr(std::min<std::size_t>(1, path.size()));
    std::ranges::replace(name, '/', '.');
    // json::flatten() writes a slash inside a key as ~1.
    for (std::size_t at = name.find("~1"); at != std::string::npos; at = name.find("~1", at)) {
      name.replace(at, 2, "/");
    }
    if (value.is_number()) {
      pairs.push_back({name, value.get<double>()});
    }
  }
  return pairs;
}

std::vector<LineMetrics::Pair> LineMetrics::read_row(std::string_view line) {
  CsvReader reader(line);
  const auto row = reader.next();
  if (!row || !*row) {
    return {};
  }
  const std::vector<CsvCell>& cells = **row;
  if (columns_.empty()) {
    for (const CsvCell& cell : cells) {
      columns_.push_back(cell.text);
    }
    return {};
  }
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < std::min(cells.size(), columns_.size()); ++i) {
    const std::size_t first = cells[i].text.find_first_not_of(' ');
    if (const auto number = number_at(cells[i].text, first)) {
      pairs.push_back({columns_[i], number->value});
    }
  }
  return pairs;
}

std::optional<LineValues> LineMetrics::place(std::vector<Pair> pairs) {
  std::optional<std::size_t> best;
  std::size_t which = 0;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto rank = step_rank(pairs[i].name);
    if (rank && (!best || *rank < *best) && std::trunc(pairs[i].value) == pairs[i].value) {
      best = rank;
      which = i;
    }
  }
  const bool is_only_step = best && pairs.size() == 1;
  if (pairs.empty() || is_only_step) {
    return std::nullopt;
  }
  LineValues line;
  if (!best) {
    line.step = last_ ? *last_ + 1 : 1;
  } else {
    line.step = static_cast<std::int64_t>(pairs[which].value);
    if (last_ && line.step < *last_) {
      // Epochs beside steps belong to the step that was last; a count that begins anew goes on.
      line.step = kStepNames[*best] == kEpoch ? *last_ : *last_ + 1;
    }
    pairs.erase(pairs.begin() + static_cast<std::ptrdiff_t>(which));
  }
  last_ = line.step;
  for (Pair& pair : pairs) {
    line.values.emplace_back(std::move(pair.name), pair.value);
  }
  return line;
}

std::optional<LineValues> LineMetrics::read(std::string_view line) {
  if (is_table_) {
    return place(read_row(line));
  }
  const std::size_t first = line.find_first_not_of(" \t");
  if (first != std::string_view::npos && line[first] == '{') {
    return place(read_json(line));
  }
  return place(read_text(without_colour(line)));
}

}  // namespace kedge::exchange
