#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "mlflow/internal/artifact_path.h"
#include "mlflow/internal/names.h"
#include "mlflow/internal/page_token.h"
#include "mlflow/internal/python_text.h"

namespace kedge::mlflow {
namespace {

using testing::HasSubstr;

TEST(python_text, floats_are_written_as_repr_writes_them) {
  // python3 -c "print(repr(...))"
  EXPECT_EQ(python_float(0.1), "0.1");
  EXPECT_EQ(python_float(1e-5), "1e-05");
  EXPECT_EQ(python_float(1e-4), "0.0001");
  EXPECT_EQ(python_float(123456789.0), "123456789.0");
  EXPECT_EQ(python_float(1e15), "1000000000000000.0");
  EXPECT_EQ(python_float(1e16), "1e+16");
  EXPECT_EQ(python_float(1.5e300), "1.5e+300");
  EXPECT_EQ(python_float(5e-324), "5e-324");
  EXPECT_EQ(python_float(1.0 / 3), "0.3333333333333333");
  EXPECT_EQ(python_float(-2.5), "-2.5");
  EXPECT_EQ(python_float(-0.0), "-0.0");
  EXPECT_EQ(python_float(9007199254740992.0), "9007199254740992.0");
  EXPECT_EQ(python_float(1.23e20), "1.23e+20");
}

TEST(python_text, a_param_is_a_number_when_str_gives_its_text_back) {
  for (const char* text : {"0.1", "1e-05", "10", "-3", "0", "1.0", "True", "False", "2e+20"}) {
    EXPECT_FALSE(parse_param(text).is_string()) << text;
    EXPECT_EQ(render_param(parse_param(text)), text);
  }
}

TEST(python_text, any_other_param_stays_a_text) {
  for (const char* text : {"0.10", "1e-5", "010", "+1", "-0", "true", "None", "nan", "inf", "",
                           " 1", "1.", ".5", "99999999999999999999", "0x10", "1_000", "adam"}) {
    EXPECT_TRUE(parse_param(text).is_string()) << text;
    EXPECT_EQ(render_param(parse_param(text)), text);
  }
}

TEST(python_text, other_values_are_written_as_str_writes_them) {
  EXPECT_EQ(render_param({1, 2.0, "a", true, nullptr}), "[1, 2.0, 'a', True, None]");
  EXPECT_EQ(render_param(nlohmann::json::object()), "{}");
  EXPECT_EQ(python_text("it's"), "\"it's\"");
  EXPECT_EQ(python_text("a\n'\""), R"('a\n\'"')");
}

TEST(names, a_key_is_letters_digits_and_a_few_signs) {
  for (const char* key :
       {"a", "val/loss", "a.b-c_d e:f", "caf\xC3\xA9", "\xE7\xB2\xBE\xE5\xBA\xA6"}) {
    EXPECT_TRUE(check_key(key, "name").has_value()) << key;
  }
  for (const char* key : {"a$b", "a,b", "a=b", "a\\b", "a\"b", "a#", "\xF0\x9F\x98\x80", "a\n"}) {
    EXPECT_FALSE(check_key(key, "name").has_value()) << key;
  }
  EXPECT_EQ(check_key("a$b", "name").error().message,
            "Invalid value \"a$b\" for parameter 'name' supplied: Names may only contain "
            "alphanumerics, underscores (_), dashes (-), periods (.), spaces ( ), colon(:) and "
            "slashes (/).");
}

TEST(names, a_key_is_its_own_path) {
  for (const char* key : {"a//b", "x/", "./a", "../x", "/x", ".", "a/../b", "..a"}) {
    EXPECT_FALSE(check_key(key, "key").has_value()) << key;
  }
  EXPECT_THAT(check_key("a//b", "key").error().message,
              HasSubstr("This name would resolve to 'a/b'"));
}

TEST(names, lengths_are_counted_in_characters) {
  std::string text;
  for (int i = 0; i < 250; ++i) {
    text += "\xC3\xA9";
  }
  EXPECT_TRUE(check_length(text, 250, "Metric name").has_value());
  EXPECT_EQ(check_length(text + "a", 250, "Metric name").error().message,
            "'Metric name' exceeds the maximum length of 250 characters");
  EXPECT_EQ(cut(text + "a", 250), text);
}

TEST(names, aliases_that_mean_a_version_are_reserved) {
  EXPECT_TRUE(check_alias("champion").has_value());
  EXPECT_TRUE(check_alias("v1a").has_value());
  for (const char* alias : {"latest", "LATEST", "v1", "V22", "a b", ""}) {
    EXPECT_FALSE(check_alias(alias).has_value()) << alias;
  }
}

TEST(page_token, an_offset_comes_back) {
  EXPECT_EQ(make_page_token(2), "eyJvZmZzZXQiOiAyfQ==");
  EXPECT_EQ(parse_page_token("eyJvZmZzZXQiOiAyfQ==").value(), 2);
  EXPECT_EQ(parse_page_token("").value(), 0);
}

TEST(page_token, what_is_no_token_is_refused) {
  EXPECT_EQ(parse_page_token("!!").error().message, "Invalid page token, could not base64-decode");
  EXPECT_EQ(parse_page_token("e30=").error().message, "Invalid page token, parsed value={}");
}

TEST(artifact_path, what_leads_elsewhere_is_refused) {
  for (const char* path : {"../x", "a/../../b", "/etc/passwd", "a\\b", "C:/x", "%2e%2e/x",
                           "%252e%252e/x", "a/%2e%2e", "a#b", "..", "..%2fx"}) {
    EXPECT_EQ(check_path(path).error().message, "Invalid path") << path;
  }
  EXPECT_EQ(check_path("model//data/./x.bin").value(), "model/data/x.bin");
  EXPECT_EQ(check_path("a b+c&d/caf\xC3\xA9.txt").value(), "a b+c&d/caf\xC3\xA9.txt");
  EXPECT_EQ(check_path("a..b/...").value(), "a..b/...");
}

TEST(artifact_path, a_place_is_a_run_a_model_or_neither) {
  const auto run = find_place("7/abc/artifacts/model/x");
  EXPECT_EQ(run.kind, ArtifactPlace::Kind::Run);
  EXPECT_EQ(run.owner, "abc");
  EXPECT_EQ(run.path, "model/x");
  const auto model = find_place("7/models/m-1/artifacts");
  EXPECT_EQ(model.kind, ArtifactPlace::Kind::Model);
  EXPECT_EQ(model.owner, "m-1");
  EXPECT_EQ(model.path, "");
  EXPECT_EQ(find_place("somewhere/else").kind, ArtifactPlace::Kind::Loose);
}

TEST(artifact_path, an_address_of_our_own_is_a_path) {
  EXPECT_EQ(proxied_path("mlflow-artifacts:/7/abc/artifacts"), "7/abc/artifacts");
  EXPECT_EQ(proxied_path("mlflow-artifacts://host:9000/7/x"), "7/x");
  EXPECT_EQ(proxied_path("http://h:1/api/2.0/mlflow-artifacts/artifacts/7/x"), "7/x");
  EXPECT_EQ(proxied_path("mlflow-artifacts:"), "");
  EXPECT_EQ(proxied_path("s3://bucket/x"), std::nullopt);
  EXPECT_EQ(proxied_path("mlflow-artifacts:/../x"), std::nullopt);
}

TEST(artifact_path, a_folder_lists_what_lies_in_it) {
  const std::vector<std::pair<std::string, std::uint64_t>> files = {
      {"a.txt", 1}, {"dir/b.txt", 2}, {"dir/sub/c.txt", 3}, {"director", 4}};
  const auto root = list_folder(files, "");
  ASSERT_EQ(root.size(), 3);
  EXPECT_EQ(root[0].name, "a.txt");
  EXPECT_TRUE(root[1].is_folder);
  EXPECT_EQ(root[2].size, 4);
  EXPECT_EQ(list_folder(files, "dir").size(), 2);
  EXPECT_TRUE(list_folder(files, "a.txt").empty());
}

}  // namespace
}  // namespace kedge::mlflow
