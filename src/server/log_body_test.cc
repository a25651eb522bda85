#include "server/log_body.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kedge::server {
namespace {

using testing::HasSubstr;

TEST(ParseLog, reads_points) {
  const auto points =
      parse_log(R"({"points": [{"key": "loss", "step": 3, "value": 0.5, "time_us": 7},)"
                R"( {"value": -2, "step": 4, "key": "gpu", "kind": "system"}]})");
  ASSERT_TRUE(points.has_value()) << points.error().message;
  ASSERT_EQ(points->size(), 2U);
  EXPECT_EQ(points->at(0).key, "loss");
  EXPECT_EQ(points->at(0).step, 3);
  EXPECT_EQ(points->at(0).value, 0.5);
  EXPECT_EQ(points->at(0).time_us, 7);
  EXPECT_EQ(points->at(1).value, -2);
  EXPECT_EQ(points->at(1).kind, store::MetricKind::System);
}

TEST(ParseLog, reads_values_before_their_step) {
  const auto points =
      parse_log(R"({"values": {"a": 1, "b": true}, "time_us": 5, "step": 9, "epoch": 0.5})");
  ASSERT_TRUE(points.has_value()) << points.error().message;
  ASSERT_EQ(points->size(), 3U);
  EXPECT_EQ(points->at(1).key, "b");
  EXPECT_EQ(points->at(1).value, 1);
  EXPECT_EQ(points->at(0).step, 9);
  EXPECT_EQ(points->at(1).time_us, 5);
  EXPECT_EQ(points->at(2).key, "epoch");
  EXPECT_EQ(points->at(2).step, 9);
}

TEST(ParseLog, reads_numbers_that_json_does_not_have) {
  const auto points =
      parse_log(R"({"step": 1, "values": {"a": "NaN", "b": "Infinity", "c": "-Infinity"}})");
  ASSERT_TRUE(points.has_value()) << points.error().message;
  EXPECT_TRUE(std::isnan(points->at(0).value));
  EXPECT_TRUE(std::isinf(points->at(1).value) && points->at(1).value > 0);
  EXPECT_TRUE(std::isinf(points->at(2).value) && points->at(2).value < 0);
}

TEST(ParseLog, says_what_is_wrong) {
  for (const auto& [text, message] : {
           std::pair{R"([1])", "must be an object"},
           {R"({"points": [{"key": "a", "step": 1}]})", "point 0 has no value"},
           {R"({"points": [{"key": "a", "value": 1}]})", "point 0 has no step"},
           {R"({"points": [{"step": 1, "value": 1}]})", "point 0 has no key"},
           {R"({"points": [{"key": "a", "step": 1.5, "value": 1}]})", "'step' of point 0"},
           {R"({"points": [{"key": "a", "step": 1, "value": "x"}]})", "the text 'x'"},
           {R"({"points": [{"key": "", "step": 1, "value": 1}]})", "1 to 1024 bytes"},
           {R"({"points": [{"key": "a", "step": 1, "value": null}]})", "cannot be null"},
           {R"({"points": [[1]]})", "a list"},
           {R"({"points": 1})", "'points' cannot be 1"},
           {R"({"values": {"a": {"b": 1}}, "step": 1})", "'a' cannot be an object"},
           {R"({"values": {"a": 1}})", "needs a 'step'"},
           {R"({"stepp": 1, "values": {"a": 1}})", "'stepp' cannot be 1"},
           {R"({"step": 1, "values": {"a": 1})", "not JSON"},
           {"{\"step\": 1, \"values\": {\"\xff\": 1}}", "not JSON"},
           {"", "not JSON"},
       }) {
    const auto points = parse_log(text);
    ASSERT_FALSE(points.has_value()) << text;
    EXPECT_THAT(points.error().message, HasSubstr(message)) << text;
  }
}

}  // namespace
}  // namespace kedge::server
