#include "use/internal/class_report.h"

#include <gtest/gtest.h>

namespace kedge::use {
namespace {

// Worked by hand: class a has 8 samples, 6 found; 7 were called a.
TEST(ClassReport, precision_recall_and_f1_by_hand) {
  const auto scores = score_classes({{6, 2}, {1, 3}}, {"a", "b"});
  ASSERT_EQ(scores.size(), 2U);
  EXPECT_EQ(scores[0].count, 8);
  EXPECT_DOUBLE_EQ(scores[0].precision, 6.0 / 7);
  EXPECT_DOUBLE_EQ(scores[0].recall, 0.75);
  EXPECT_DOUBLE_EQ(scores[0].f1, 0.8);
  EXPECT_DOUBLE_EQ(scores[1].precision, 0.6);
}

TEST(ClassReport, a_class_nobody_predicts_scores_zero) {
  const auto scores = score_classes({{2, 0}, {2, 0}}, {"a", "b"});
  EXPECT_EQ(scores[1].precision, 0);
  EXPECT_EQ(scores[1].f1, 0);
}

TEST(ClassReport, the_matrix_names_rows_and_columns) {
  EXPECT_EQ(render_confusion({{6, 2}, {1, 3}}, {"cat", "dog"}),
            "true \\ predicted    cat   dog\n"
            "cat                   6     2\n"
            "dog                   1     3\n");
}

}  // namespace
}  // namespace kedge::use
