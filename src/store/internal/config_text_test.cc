#include "store/internal/config_text.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace kedge::store {
namespace {

using nlohmann::json;

class ConfigTextTest : public testing::Test {
 protected:
  // Both ways must lead to the same values of the pool, in the same order.
  void expect_same(const std::string& text) {
    const auto read = reader_.read(text);
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(*read, flatten_config(json::parse(text), keys_, pool_)) << text;
  }

  KeyTable keys_;
  ValuePool pool_;
  ConfigTextReader reader_{keys_, pool_};
};

TEST_F(ConfigTextTest, reads_what_the_document_would_give) {
  for (const char* text :
       {"{}", R"({"a":1})", R"({"optimizer":{"lr":0.1,"name":"adam"},"seed":7})",
        R"({ "b" : [1, {"c": "]}"}, "x,y"] , "a" : { } , "d":null, "e":true })",
        R"({"a":{"b":2},"a.b":1})", R"({"quoted":"say \"no\" \\","n":-1.5e-7,"big":1e300})",
        R"({"a":{"b":{"c":{"d":[[],{}]}}}})", R"({"escaped \"key\"":1,"plain":2})",
        R"({"":{"a":1}})", "{\"\xC3\xA4\":\"\xE2\x82\xAC\"}", "[1,2]", "17"}) {
    expect_same(text);
    expect_same(text);  // now from what is known
  }
}

TEST_F(ConfigTextTest, cuts_deep_nesting_as_the_document_does) {
  std::string text = "1";
  for (int i = 0; i < 20; ++i) {
    text = R"({"k":)" + text + "}";
  }
  expect_same(text);
}

TEST_F(ConfigTextTest, says_that_a_text_is_no_json) {
  for (const char* text : {"", "{", R"({"a":})", R"({"a":1)", R"({"a":nope})", R"({"a":1}x)",
                           R"({"a" 1})", R"({"a":"b})", R"({"a":[1})"}) {
    EXPECT_FALSE(reader_.read(text)) << text;
  }
}

}  // namespace
}  // namespace kedge::store
