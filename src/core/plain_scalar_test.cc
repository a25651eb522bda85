#include "core/plain_scalar.h"

#include <cstdint>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace kedge {
namespace {

using nlohmann::json;

// YAML 1.2.2, section 10.3.2.
TEST(plain_scalar, has_the_type_of_the_core_schema) {
  EXPECT_EQ(parse_plain_scalar("True"), json(true));
  EXPECT_EQ(parse_plain_scalar("FALSE"), json(false));
  EXPECT_EQ(parse_plain_scalar("~"), json(nullptr));
  EXPECT_EQ(parse_plain_scalar("+12"), json(std::int64_t{12}));
  EXPECT_TRUE(parse_plain_scalar("-7").is_number_integer());
  EXPECT_EQ(parse_plain_scalar("1e3"), json(1000.0));
  EXPECT_TRUE(parse_plain_scalar("1e3").is_number_float());
}

TEST(plain_scalar, is_a_text_where_json_has_no_such_value) {
  for (const char* text : {"", "yes", "nan", "inf", "-inf", "1.2.3", "0x1F", "1 ", "+", "1e999"}) {
    EXPECT_EQ(parse_plain_scalar(text), json(text));
  }
}

}  // namespace
}  // namespace kedge
