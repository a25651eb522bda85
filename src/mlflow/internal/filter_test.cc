#include "mlflow/internal/filter.h"

#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace kedge::mlflow {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// What the parsers of the real client (3.17) make of these texts.
nlohmann::json recorded(const char* list) {
  std::ifstream file(std::string(KEDGE_FIXTURES) + "/mlflow/filters.json");
  return nlohmann::json::parse(file).at(list);
}

std::string entity_name(Entity entity) {
  constexpr const char* kNames[] = {"metric", "parameter", "tag", "attribute", "dataset"};
  return kNames[static_cast<std::size_t>(entity)];
}

std::string comparator_name(Comparator comparator) {
  constexpr const char* kNames[] = {
      "=", "!=", ">", ">=", "<", "<=", "LIKE", "ILIKE", "IN", "NOT IN", "IS NULL", "IS NOT NULL"};
  return kNames[static_cast<std::size_t>(comparator)];
}

std::string upper(std::string text) {
  for (char& c : text) {
    c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return text;
}

void expect_same_value(const Clause& clause, const nlohmann::json& value) {
  if (clause.is_numeric) {
    EXPECT_EQ(clause.number,
              value.is_string() ? std::stod(value.get<std::string>()) : value.get<double>());
  } else if (value.is_array()) {
    EXPECT_EQ(clause.list, value.get<std::vector<std::string>>());
  } else if (value.is_string()) {
    EXPECT_EQ(clause.text, value.get<std::string>());
  } else {
    EXPECT_TRUE(value.is_null());
  }
}

// The real parser leaves some of what is wrong to its database; those filters are refused here.
bool is_left_to_the_database(const nlohmann::json& row) {
  for (const nlohmann::json& clause : row.at("ok")) {
    const auto comparator = clause.at("comparator").get<std::string>();
    const bool is_text = clause.at("value").is_string() && clause.at("key") != "version_number";
    const bool is_number = clause.at("value").is_number() || clause.at("key") == "version_number";
    if (comparator == "==" || (is_text && clause.at("type") != "metric" && comparator[0] == '>') ||
        (is_number && (comparator == "LIKE" || clause.at("value") == "x")) ||
        comparator == "like") {
      return true;
    }
  }
  return false;
}

void check_filters(const char* list, const Language& language) {
  for (const nlohmann::json& row : recorded(list)) {
    const auto text = row.at("text").get<std::string>();
    SCOPED_TRACE(text);
    const auto clauses = parse_filter(text, language);
    if (row.contains("message") || is_left_to_the_database(row)) {
      ASSERT_FALSE(clauses.has_value());
      EXPECT_THAT(clauses.error().message, StartsWith(row.value("message", "")));
      continue;
    }
    ASSERT_TRUE(clauses.has_value()) << clauses.error().message;
    ASSERT_EQ(clauses->size(), row.at("ok").size());
    for (std::size_t i = 0; i < clauses->size(); ++i) {
      const nlohmann::json& expected = row.at("ok").at(i);
      const Clause& clause = clauses->at(i);
      EXPECT_EQ(entity_name(clause.entity), expected.at("type").get<std::string>());
      EXPECT_EQ(comparator_name(clause.comparator),
                upper(expected.at("comparator").get<std::string>()));
      expect_same_value(clause, expected.at("value"));
      if (clause.entity != Entity::Attribute) {
        EXPECT_EQ(clause.key, expected.at("key").get<std::string>());
      }
    }
  }
}

void check_orders(const char* list, const Language& language) {
  for (const nlohmann::json& row : recorded(list)) {
    const auto text = row.at("text").get<std::string>();
    SCOPED_TRACE(text);
    const auto term = parse_order(text, language);
    if (row.contains("message")) {
      ASSERT_FALSE(term.has_value());
      EXPECT_THAT(term.error().message, StartsWith(row.at("message").get<std::string>()));
    } else if (row.at("ok").at(0) == "dataset") {
      EXPECT_EQ(term.error().message, "Invalid identifier type 'dataset'");
    } else {
      ASSERT_TRUE(term.has_value()) << term.error().message;
      EXPECT_EQ(entity_name(term->entity), row.at("ok").at(0).get<std::string>());
      EXPECT_EQ(term->is_ascending, row.at("ok").at(2).get<bool>());
    }
  }
}

TEST(filter, run_filters_mean_what_the_real_parser_makes_of_them) {
  check_filters("run_filters", kRunLanguage);
}

TEST(filter, run_orders_mean_what_the_real_parser_makes_of_them) {
  check_orders("run_orders", kRunLanguage);
}

TEST(filter, model_version_filters_mean_what_the_real_parser_makes_of_them) {
  check_filters("model_version_filters", kModelVersionLanguage);
}

TEST(filter, experiment_orders_mean_what_the_real_parser_makes_of_them) {
  check_orders("experiment_orders", kExperimentLanguage);
}

TEST(filter, names_that_mean_the_same_have_one_key) {
  EXPECT_EQ(parse_filter("Created > 5", kRunLanguage)->at(0).key, "start_time");
  EXPECT_EQ(parse_filter("`Run name` = 'x'", kRunLanguage)->at(0).key, "run_name");
  EXPECT_EQ(parse_filter("`metrics`.`a b` > 1", kRunLanguage)->at(0).key, "a b");
}

TEST(filter, a_list_that_is_none_is_refused) {
  for (const char* text : {"run_id IN (1,2)", "run_id IN ('a', b)", "run_id IN ('a' 'b')"}) {
    const auto clauses = parse_filter(text, kRunLanguage);
    ASSERT_FALSE(clauses.has_value()) << text;
    EXPECT_THAT(clauses.error().message, HasSubstr("expected string value"));
  }
}

TEST(filter, like_takes_percent_for_anything_and_underscore_for_one_character) {
  EXPECT_TRUE(is_like("abc", "abc", true));
  EXPECT_TRUE(is_like("abc", "a%", true));
  EXPECT_TRUE(is_like("abc", "%c", true));
  EXPECT_TRUE(is_like("abcabd", "%ab_", true));
  EXPECT_TRUE(is_like("", "%", true));
  EXPECT_TRUE(is_like("caf\xC3\xA9", "caf_", true));
  EXPECT_FALSE(is_like("abc", "ab", true));
  EXPECT_FALSE(is_like("ABC", "abc", true));
  EXPECT_TRUE(is_like("ABC", "a%C", false));
  EXPECT_TRUE(is_like("100%", "100%", true));
  EXPECT_FALSE(is_like("", "_", true));
}

TEST(filter, what_is_not_there_fails_every_comparison) {
  const auto clauses =
      parse_filter("tags.a != 'x' AND metrics.b != 1 AND tags.c IS NULL", kRunLanguage);
  EXPECT_FALSE(matches_text(clauses->at(0), std::nullopt));
  EXPECT_FALSE(matches_number(clauses->at(1), std::nullopt));
  EXPECT_TRUE(matches_text(clauses->at(2), std::nullopt));
  EXPECT_FALSE(matches_text(clauses->at(2), "here"));
  EXPECT_TRUE(matches_number(clauses->at(1), std::nan("")));
}

}  // namespace
}  // namespace kedge::mlflow
