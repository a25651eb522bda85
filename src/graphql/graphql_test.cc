#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "graphql/document.h"
#include "graphql/execute.h"
#include "graphql/schema.h"

namespace kedge::graphql {
namespace {

using nlohmann::json;

// A small world: a ship has a crew, of which each is a sailor or a cat.
struct Ship {
  std::string name;
};

struct Crew {
  std::string name;
  bool is_cat = false;
};

struct World {
  int* launches = nullptr;
};

std::unique_ptr<Schema> make_schema() {
  auto made = std::make_unique<Schema>();
  Schema& schema = *made;
  TypeBuilder<World>(schema, "Query")
      .object("ship", "Ship",
              [](const World&, const Args& args) {
                const auto name = args.text("name");
                return name == "none" ? Value(json()) : make_node(Ship{name.value_or("Kedge")});
              })
      .leaf("echo", [](const World&, const Args& args) { return args.value("value"); });
  TypeBuilder<World>(schema, "Mutation")
      .object("launch", "Ship", [](const World& world, const Args& args) -> Result<Value> {
        ++*world.launches;
        const auto name = args.input().text("name");
        if (!name) {
          return fail(ErrorKind::Usage, "a ship needs a name");
        }
        return make_node(Ship{*name});
      });
  TypeBuilder<Ship>(schema, "Ship")
      .leaf("name", [](const Ship& ship) { return ship.name; })
      .leaf("length",
            [](const Ship&, const Args& args) { return args.text("unit") == "ft" ? 98.4 : 30.0; })
      .object("crew", "Crew", [](const Ship&, const Args& args) {
        std::vector<Crew> crew = {{"Ann"}, {"Mog", true}};
        crew.resize(std::min<std::size_t>(
            crew.size(), static_cast<std::size_t>(args.number("first").value_or(9))));
        return make_nodes(std::move(crew));
      });
  TypeBuilder<Crew>(schema, "Crew")
      .leaf("name", [](const Crew& crew) { return crew.name; })
      .leaf("lives", [](const Crew& crew) { return crew.is_cat ? 9 : 1; })
      .name_of([](const Crew& crew) { return crew.is_cat ? "Cat" : "Sailor"; });
  schema.add_member("Cat", "Crew");
  schema.add_member("Sailor", "Crew");
  schema.add_input("LaunchInput", "name");
  return made;
}

struct Asked {
  std::string text;
  json variables = {};
  std::string operation = {};
};

Result<json> ask(const Asked& question, int* launches = nullptr) {
  static const auto schema = make_schema();
  const Document document = KEDGE_TRY(parse_document(question.text));
  const Operation* operation = KEDGE_TRY(find_operation(document, question.operation));
  int ignored = 0;
  return execute({*schema, document, *operation, question.variables,
                  make_node(World{launches != nullptr ? launches : &ignored})});
}

json answer(const Asked& question) {
  auto found = ask(question);
  return found ? *found : json("error: " + found.error().message);
}

std::string error(const Asked& question) {
  const auto found = ask(question);
  return found ? "no error: " + found->dump() : found.error().message;
}

TEST(GraphQl, aliases_arguments_and_lists) {
  EXPECT_EQ(answer({"{ a: ship(name: \"Ida\") { name l: length(unit: ft) } ship { name } }"}),
            json::parse(R"({"a": {"name": "Ida", "l": 98.4}, "ship": {"name": "Kedge"}})"));
  EXPECT_EQ(answer({"query Q { ship { crew(first: 1,) { name, lives, } } }"}),
            json::parse(R"({"ship": {"crew": [{"name": "Ann", "lives": 1}]}})"));
  EXPECT_EQ(answer({"{ ship(name: \"none\") { crew { name } } }"}),
            json::parse(R"({"ship": null})"));
}

TEST(GraphQl, fragments_apply_to_their_type_and_equal_keys_are_merged) {
  EXPECT_EQ(answer({"#graphql\n query { ship { crew { name } ...Parts crew { __typename } } }\n"
                    "fragment Parts on Ship { name crew { ... on Cat { lives } ...Any } }\n"
                    "fragment Any on Crew { kind: __typename }"}),
            json::parse(R"({"ship": {"name": "Kedge", "crew": [
                {"name": "Ann", "kind": "Sailor", "__typename": "Sailor"},
                {"name": "Mog", "kind": "Cat", "__typename": "Cat", "lives": 9}]}})"));
}

TEST(GraphQl, directives_leave_out) {
  const std::string text =
      "query ($yes: Boolean!, $no: Boolean = false) { ship { name @include(if: $no) "
      "length @skip(if: $yes) ... @include(if: $yes) { crew(first: 1) { name } } } }";
  EXPECT_EQ(answer({text, {{"yes", true}}}),
            json::parse(R"({"ship": {"crew": [{"name": "Ann"}]}})"));
  EXPECT_EQ(error({"{ ship @later(if: true) { name } }"}), "Unknown directive \"@later\".");
}

TEST(GraphQl, variables_have_defaults_and_undeclared_ones_are_ignored) {
  const std::string text = "query ($name: String = \"Ida\") { ship(name: $name) { name } }";
  EXPECT_EQ(answer({text})["ship"]["name"], "Ida");
  EXPECT_EQ(answer({text, {{"name", "Eva"}, {"other", 1}}})["ship"]["name"], "Eva");
  // Not given and without a default: as if the argument were not there.
  EXPECT_EQ(answer({"query ($name: String) { ship(name: $name) { name } }"})["ship"]["name"],
            "Kedge");
}

TEST(GraphQl, values_keep_their_types_and_single_values_become_lists) {
  EXPECT_EQ(answer({R"(query ($v: [JSONString!]!, $w: [[Int]] = [1, 2]) {
                        a: echo(value: {list: [1, -2.5e1, "x\u00e9\n", true, null, RED], v: $v})
                        b: echo(value: $w) c: echo(value: """
                          block
                            text
                        """) d: echo(value: 9007199254740993) })",
                    {{"v", "{}"}}}),
            json::parse(R"({"a": {"list": [1, -25.0, "x\u00e9\n", true, null, "RED"],
                            "v": ["{}"]},
                            "b": [1, 2], "c": "block\n  text", "d": 9007199254740993})"));
}

TEST(GraphQl, the_operation_is_chosen_by_name) {
  const std::string text = "query A { ship { name } } query B { ship { length } }";
  EXPECT_EQ(answer({text, {}, "B"}), json::parse(R"({"ship": {"length": 30.0}})"));
  EXPECT_EQ(error({text}), "Must provide operation name.");
  EXPECT_EQ(error({text, {}, "C"}), "Unknown operation \"C\".");
}

TEST(GraphQl, a_wrong_field_is_found_before_anything_is_done) {
  int launches = 0;
  const auto refused =
      ask({"mutation { launch(input: {name: \"Ida\"}) { name sails } }"}, &launches);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "Cannot query field \"sails\" on type \"Ship\".");
  EXPECT_EQ(launches, 0);
  ASSERT_TRUE(ask({"mutation ($input: LaunchInput!) { launch(input: $input) { name } }",
                   {{"input", {{"name", "Ida"}}}}},
                  &launches));
  EXPECT_EQ(launches, 1);
}

TEST(GraphQl, what_cannot_be_answered_is_refused) {
  EXPECT_EQ(error({"{ ship { ...Gone } }"}), "Unknown fragment \"Gone\".");
  EXPECT_EQ(error({"{ ship { ... on Boat { name } } }"}), "Unknown type \"Boat\".");
  EXPECT_EQ(error({"{ ship }"}),
            "Field \"ship\" of type \"Query\" must have a selection of subfields.");
  EXPECT_EQ(error({"{ ship { name { first } } }"}),
            "Field \"name\" of type \"Ship\" must not have a selection of subfields.");
  EXPECT_EQ(error({"{ ship { ...A } } fragment A on Ship { ...B } fragment B on Ship { ...A }"}),
            "Cannot spread fragment \"A\" within itself.");
  EXPECT_EQ(error({"mutation { launch(input: {}) { name } }"}), "a ship needs a name");
}

TEST(GraphQl, syntax_errors_say_where) {
  EXPECT_EQ(error({"{ ship {\n  name ! } }"}),
            "Syntax Error: Unexpected \"!\" at line 2, column 8.");
  EXPECT_EQ(error({"{ ship { name }"}),
            "Syntax Error: Unexpected end of the document at line 1, column 16.");
  EXPECT_EQ(error({"{ echo(value: \"a) }"}),
            "Syntax Error: Unterminated string at line 1, column 15.");
  EXPECT_EQ(error({"subscription { ship { name } }"}),
            "Syntax Error: Unexpected \"subscription\" at line 1, column 1.");
  EXPECT_EQ(error({""}), "Syntax Error: the document has no operation.");
}

TEST(GraphQl, documents_made_to_hurt_are_refused) {
  std::string deep;
  for (int i = 0; i < 5000; ++i) {
    deep += "{ship";
  }
  EXPECT_EQ(error({deep}), "the document is nested too deeply");
  EXPECT_EQ(error({"{ echo(value: " + std::string(5000, '[') + ") }"}),
            "the document is nested too deeply");

  // Each fragment spreads the next twice: 2^40 fields.
  std::string wide = "{ ship { ...F0 } }";
  for (int i = 0; i < 40; ++i) {
    wide += " fragment F" + std::to_string(i) + " on Ship { ...F" + std::to_string(i + 1) +
            " ...F" + std::to_string(i + 1) + " }";
  }
  wide += " fragment F40 on Ship { name }";
  EXPECT_EQ(error({wide}), "the document selects too many fields");

  EXPECT_TRUE(error({std::string(kMaxDocumentBytes + 1, ' ')}).ends_with("are the most"));
}

TEST(GraphQl, the_schema_describes_itself) {
  EXPECT_EQ(answer({"{ __type(name: \"Crew\") { name kind fields { name } } "
                    "in: __type(name: \"LaunchInput\") { inputFields { name } } "
                    "none: __type(name: \"Boat\") { name } }"}),
            json::parse(R"({"__type": {"name": "Crew", "kind": "OBJECT",
                             "fields": [{"name": "lives"}, {"name": "name"}]},
                            "in": {"inputFields": [{"name": "name"}]}, "none": null})"));
  EXPECT_EQ(answer({"{ __schema { mutationType { fields { name } } } }"}),
            json::parse(R"({"__schema": {"mutationType": {"fields": [{"name": "launch"}]}}})"));
}

TEST(Question, is_the_operation_that_the_body_names) {
  const json body = {{"query", "query A { ship { name } } mutation B { launch { name } }"},
                     {"operationName", "B"},
                     {"variables", {{"x", 1}}}};
  const auto question = parse_question(body);
  ASSERT_TRUE(question);
  EXPECT_EQ(question->operation().name, "B");
  EXPECT_TRUE(question->operation().is_mutation);
  EXPECT_EQ(question->variables, json({{"x", 1}}));
}

TEST(Question, says_what_a_body_lacks) {
  EXPECT_EQ(parse_question(json::object()).error().message, "the request has no query");
  EXPECT_EQ(parse_question({{"query", 5}}).error().message, "the request has no query");
  EXPECT_EQ(parse_question({{"query", "query A { a } query B { a }"}}).error().message,
            "Must provide operation name.");
  EXPECT_EQ(parse_question({{"query", "{ a }"}, {"operationName", "C"}}).error().message,
            "Unknown operation \"C\".");
}

}  // namespace
}  // namespace kedge::graphql
