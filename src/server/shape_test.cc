#include "server/internal/shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace kedge::server {
namespace {

using nlohmann::json;

std::string mistake_in(const Shapes& shapes, std::string_view shape, json value) {
  const auto checked = shapes.check(shapes.parse(shape), value);
  return checked ? "" : checked.error().message;
}

TEST(Shape, is_json_schema) {
  Shapes shapes;
  shapes.name("Run", "{id: string}");
  EXPECT_EQ(json(shapes.parse(R"({
    runs: Run[],
    limit?: integer(0..10) = 5,  // at most
                                 // so many
    state: 'on' | 'off' | null,
    labels: {*: time},
  })")),
            json::parse(R"({
    "type": "object",
    "properties": {
      "runs": {"type": "array", "items": {"$ref": "#/components/schemas/Run"}},
      "limit": {"type": "integer", "minimum": 0, "maximum": 10, "default": 5,
                "description": "at most so many"},
      "state": {"anyOf": [{"type": "string", "enum": ["on", "off"]}, {"type": "null"}]},
      "labels": {"type": "object", "properties": {}, "additionalProperties":
        {"type": "integer", "description": "Unix time in microseconds; 0: not known"}}
    },
    "additionalProperties": false,
    "required": ["runs", "state", "labels"]
  })"));
}

TEST(Shape, is_another_with_more_fields) {
  Shapes shapes;
  shapes.name("Search", "{limit?: integer = 100, filter: string}");
  const Schema schema = shapes.parse("Search & {limit?: integer = 7, group: string[]}");
  EXPECT_EQ(schema["properties"]["limit"]["default"], 7);
  EXPECT_EQ(schema["required"], Schema({"filter", "group"}));
}

TEST(Shape, says_what_is_wrong_and_where) {
  Shapes shapes;
  shapes.name("Run", "{id: string}");
  const std::string_view shape =
      "{runs?: Run[], limit?: integer(0..10), more?: integer(1..), state?: 'on' | 'off', "
      "name?: string(2..4), value?: number | null}";
  EXPECT_EQ(mistake_in(shapes, shape, 3), "the body must be an object, not number");
  EXPECT_EQ(mistake_in(shapes, shape, json::parse(R"({"runs": [{"id": "a"}, {"id": 1}]})")),
            "'runs[1].id' must be a text, not number");
  EXPECT_EQ(mistake_in(shapes, shape, json::parse(R"({"runs": [{}]})")), "'runs[0].id' is needed");
  EXPECT_EQ(mistake_in(shapes, shape, json::parse(R"({"limit": 1.5})")),
            "'limit' must be a whole number, not number");
  EXPECT_EQ(mistake_in(shapes, shape, json::parse(R"({"limit": 11})")),
            "'limit' must be 0 to 10, not 11");
  EXPECT_EQ(mistake_in(shapes, shape, json::parse(R"({"more": 0})")),
            "'more' must be 1 or more, not 0");
  EXPECT_EQ(mistake_in(shapes, shape, json::parse(R"({"state": "of"})")),
            "'state' must be on, off, not 'of'");
  EXPECT_EQ(mistake_in(shapes, shape, json::parse(R"({"name": "a"})")),
            "'name' must have 2 to 4 characters");
  EXPECT_EQ(mistake_in(shapes, shape, json::parse(R"({"value": "1"})")),
            "'value' must be a number or null, not string");
  EXPECT_EQ(mistake_in(shapes, shape, json::parse(R"({"limits": 1})")),
            "unknown field 'limits'; did you mean 'limit'?");
  EXPECT_EQ(mistake_in(shapes, "{*: string}", json::parse(R"({"any": 1})")),
            "'any' must be a text, not number");
}

TEST(Shape, fills_in_defaults_and_drops_what_is_null) {
  Shapes shapes;
  json value = json::parse(R"({"filter": null, "best": null, "in": {}})");
  const auto checked =
      shapes.check(shapes.parse("{filter?: string, best: number | null, limit?: integer = 100, "
                                "in: {order?: string[] = []}}"),
                   value);
  ASSERT_TRUE(checked.has_value()) << checked.error().message;
  EXPECT_EQ(value, json::parse(R"({"best": null, "limit": 100, "in": {"order": []}})"));
}

}  // namespace
}  // namespace kedge::server
