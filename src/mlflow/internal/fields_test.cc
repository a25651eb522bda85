#include "mlflow/internal/fields.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kedge::mlflow {
namespace {

using testing::ElementsAre;
using testing::Pair;

http::Request post(std::string body, std::string type = "application/json") {
  http::Request request;
  request.method = http::Method::Post;
  request.body = std::move(body);
  request.headers.add("content-type", std::move(type));
  return request;
}

Fields fields_of(std::string body) {
  return Fields::read(post(std::move(body))).value();
}

TEST(fields, both_spellings_of_a_name_are_read) {
  EXPECT_EQ(fields_of(R"({"run_id": "a"})").need_text("run_id"), "a");
  EXPECT_EQ(fields_of(R"({"runId": "a"})").need_text("run_id"), "a");
}

TEST(fields, both_spellings_at_once_are_refused) {
  const auto text = fields_of(R"({"run_id": "a", "runId": "b"})").text("run_id");
  EXPECT_EQ(text.error().message,
            "Request specifies both 'run_id' and 'runId'; provide only one of them.");
}

TEST(fields, what_is_missing_is_named) {
  const std::string message =
      "Missing value for required parameter 'key'. See the API docs for more information about "
      "request parameters.";
  for (const char* body : {"{}", R"({"key": null})", R"({"key": ""})"}) {
    EXPECT_EQ(fields_of(body).need_text("key").error().message, message) << body;
  }
}

TEST(fields, a_wrong_type_is_named_as_python_calls_it) {
  const Fields fields = fields_of(R"({"name": 123, "location": 9.0, "tags": "5", "step": "foo"})");
  EXPECT_EQ(fields.text("name").error().message,
            "Invalid value 123 for parameter 'name' supplied:  Hint: Value was of type 'int'. See "
            "the API docs for more information about request parameters.");
  EXPECT_THAT(fields.text("location").error().message,
              testing::StartsWith("Invalid value 9.0 for parameter 'location' supplied"));
  EXPECT_THAT(fields.items("tags").error().message,
              testing::StartsWith("Invalid value \"5\" for parameter 'tags' supplied"));
  EXPECT_THAT(fields.find_integer("step").error().message,
              testing::StartsWith("Invalid value \"foo\" for parameter 'step' supplied"));
}

TEST(fields, integers_may_be_texts) {
  const Fields fields = fields_of(R"({"a": "9007199254740993", "b": -3, "c": 1e3})");
  EXPECT_EQ(fields.find_integer("a")->value(), 9007199254740993);
  EXPECT_EQ(fields.find_integer("b")->value(), -3);
  EXPECT_EQ(fields.find_integer("c")->value(), 1000);
  EXPECT_EQ(*fields.find_integer("d"), std::nullopt);
}

TEST(fields, nan_is_read_quoted_and_bare) {
  EXPECT_TRUE(std::isnan(fields_of(R"({"value": "NaN"})").need_number("value").value()));
  EXPECT_TRUE(std::isnan(
      fields_of(R"({"text": "NaN \" NaN", "value": NaN})").need_number("value").value()));
  EXPECT_EQ(fields_of(R"({"value": -Infinity})").need_number("value").value(), -HUGE_VAL);
}

TEST(fields, a_list_names_the_place) {
  const Fields fields = fields_of(R"({"metrics": [{"key": "a"}, {"key": "b"}]})");
  const auto items = fields.items("metrics").value();
  EXPECT_EQ(items.at(1).need_text("key"), "b");
  EXPECT_THAT(items.at(1).need_integer("timestamp").error().message,
              testing::StartsWith("Missing value for required parameter 'metrics[1].timestamp'"));
}

TEST(fields, a_query_is_read_as_a_body_is) {
  http::Request request;
  request.query = {{"run_ids", "x"}, {"run_ids", "y"}, {"max_results", "5"}, {"deleted", "True"}};
  const Fields fields = Fields::read(request).value();
  EXPECT_THAT(fields.texts("run_ids").value(), ElementsAre("x", "y"));
  EXPECT_EQ(fields.find_integer("max_results")->value(), 5);
  EXPECT_TRUE(fields.boolean("deleted", false).value());
}

TEST(fields, a_truth_value_that_is_none_is_refused) {
  http::Request request;
  request.query = {{"deleted", "yes"}};
  EXPECT_EQ(Fields::read(request)->boolean("deleted", false).error().message,
            "Invalid boolean value: yes, must be 'true' or 'false'.");
}

TEST(fields, an_enum_is_a_name_or_a_number) {
  constexpr EnumName kViews[] = {{"ACTIVE_ONLY", 1}, {"DELETED_ONLY", 2}, {"ALL", 3}};
  EXPECT_EQ(fields_of(R"({"view": "ALL"})").enumerated("view", kViews, 1), 3);
  EXPECT_EQ(fields_of(R"({"view": 2})").enumerated("view", kViews, 1), 2);
  EXPECT_EQ(fields_of("{}").enumerated("view", kViews, 1), 1);
  EXPECT_FALSE(fields_of(R"({"view": "NOPE"})").enumerated("view", kViews, 1).has_value());
}

TEST(fields, keys_and_values_come_as_pairs) {
  const Fields fields = fields_of(R"({"tags": [{"key": "a", "value": "1"}, {"key": "b"}]})");
  EXPECT_THAT(fields.key_values("tags").value(), ElementsAre(Pair("a", "1"), Pair("b", "")));
}

TEST(fields, the_body_must_be_declared_as_json) {
  EXPECT_EQ(Fields::read(post("{}", "text/plain")).error().message,
            "Bad Request. Content-Type must be one of ['application/json'].");
  EXPECT_TRUE(Fields::read(post("{}", "application/json; charset=utf-8")).has_value());
  EXPECT_TRUE(Fields::read(post("", "text/plain")).has_value());
}

TEST(fields, json_in_a_json_text_is_read) {
  EXPECT_EQ(fields_of(R"("{\"run_id\": \"a\"}")").need_run_id(), "a");
}

TEST(fields, what_is_no_object_is_refused) {
  EXPECT_FALSE(Fields::read(post("[1]")).has_value());
  EXPECT_FALSE(Fields::read(post("{")).has_value());
  EXPECT_EQ(status_of(Fields::read(post("{")).error().code), 400);
}

}  // namespace
}  // namespace kedge::mlflow
