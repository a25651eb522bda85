#include "use/internal/class_report.h"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

namespace kedge::use {
namespace {

constexpr std::size_t kMostClassesShown = 20;

double ratio(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string name_at(const std::vector<std::string>& names, std::size_t index) {
  return index < names.size() ? names[index] : std::to_string(index);
}

}  // namespace

std::vector<ClassScore> score_classes(const std::vector<std::vector<std::int64_t>>& counts,
                                      const std::vector<std::string>& names) {
  std::vector<ClassScore> scores;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    std::int64_t is_class = 0;
    std::int64_t said_class = 0;
    for (std::size_t j = 0; j < counts.size(); ++j) {
      is_class += counts[i][j];
      said_class += counts[j][i];
    }
    ClassScore score{.name = name_at(names, i), .count = is_class};
    score.precision = ratio(counts[i][i], said_class);
    score.recall = ratio(counts[i][i], is_class);
    const double sum = score.precision + score.recall;
    score.f1 = sum == 0 ? 0 : 2 * score.precision * score.recall / sum;
    scores.push_back(std::move(score));
  }
  return scores;
}

std::string render_class_scores(const std::vector<ClassScore>& scores) {
  std::size_t width = 5;
  for (const ClassScore& score : scores) {
    width = std::max(width, score.name.size());
  }
  std::string text = fmt::format("{:<{}}  precision  recall      f1   count\n", "class", width);
  for (const ClassScore& score : scores) {
    text += fmt::format("{:<{}}  {:9.4f}  {:6.4f}  {:6.4f}  {:6}\n", score.name, width,
                        score.precision, score.recall, score.f1, score.count);
  }
  return text;
}

std::string render_confusion(const std::vector<std::vector<std::int64_t>>& counts,
                             const std::vector<std::string>& names) {
  if (counts.size() > kMostClassesShown) {
    return fmt::format("(confusion matrix of {} classes: see --json)\n", counts.size());
  }
  std::size_t width = 6;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    width = std::max(width, name_at(names, i).size() + 1);
  }
  std::string text = fmt::format("{:<{}}", "true \\ predicted", std::max<std::size_t>(width, 17));
  for (std::size_t i = 0; i < counts.size(); ++i) {
    text += fmt::format("{:>{}}", name_at(names, i), width);
  }
  text += "\n";
  for (std::size_t i = 0; i < counts.size(); ++i) {
    text += fmt::format("{:<{}}", name_at(names, i), std::max<std::size_t>(width, 17));
    for (const std::int64_t count : counts[i]) {
      text += fmt::format("{:>{}}", count, width);
    }
    text += "\n";
  }
  return text;
}

}  // namespace kedge::use
