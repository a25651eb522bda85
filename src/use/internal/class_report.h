// Precision, recall and F1 per class, from a confusion matrix.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kedge::use {

struct ClassScore {
  std::string name;
  double precision = 0;
  double recall = 0;
  double f1 = 0;
  std::int64_t count = 0;  // samples of the class
};

// counts[i][j]: samples of class i predicted as j. A ratio over nothing is 0.
std::vector<ClassScore> score_classes(const std::vector<std::vector<std::int64_t>>& counts,
                                      const std::vector<std::string>& names);

// Both as text tables; the matrix only where it fits a page.
std::string render_class_scores(const std::vector<ClassScore>& scores);
std::string render_confusion(const std::vector<std::vector<std::int64_t>>& counts,
                             const std::vector<std::string>& names);

}  // namespace kedge::use
