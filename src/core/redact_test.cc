#include "core/redact.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace kedge {
namespace {

using testing::ElementsAre;

std::string redacted(std::string text) {
  redact_text(text);
  return text;
}

TEST(RedactArguments, hides_secrets_on_a_command_line) {
  EXPECT_THAT(redact_arguments({"kedge", "--api-key=abc", "--token", "t0k", "server.password=p",
                                "model.key_size=3", "--verbose", "x", "https://me:pw@host/a?b@c"}),
              ElementsAre("kedge", "--api-key=<redacted>", "--token", "<redacted>",
                          "server.password=<redacted>", "model.key_size=3", "--verbose", "x",
                          "https://<redacted>@host/a?b@c"));
}

TEST(RedactText, hides_what_a_name_says_is_a_secret) {
  EXPECT_EQ(redacted("WANDB_API_KEY=0123abcd python train.py"),
            "WANDB_API_KEY=<redacted> python train.py");
  EXPECT_EQ(redacted("logging in with password: hunter2, user me"),
            "logging in with password: <redacted>, user me");
  EXPECT_EQ(redacted(R"({"aws_secret_access_key": "x/y+z", "region": "eu"})"),
            R"({"aws_secret_access_key": "<redacted>", "region": "eu"})");
  EXPECT_EQ(redacted("token=9f86d081884c7d659a2feaa0"), "token=<redacted>");
}

TEST(RedactText, hides_tokens_of_a_known_shape_and_passwords_in_addresses) {
  EXPECT_EQ(redacted("using hf_abcdefghijklmnopqrstuvwxyzABCDEF now"), "using hf_<redacted> now");
  EXPECT_EQ(redacted("kedge_81623beaa136b9195841c318dccf63e7"), "kedge_<redacted>");
  EXPECT_EQ(redacted("Authorization: Bearer abcdefgh12345678"), "Authorization: Bearer <redacted>");
  EXPECT_EQ(redacted("from https://me:pw@host/x and s3://k:s@bucket"),
            "from https://<redacted>@host/x and s3://<redacted>@bucket");
}

TEST(RedactText, long_lines_full_of_secrets_take_one_pass) {
  std::string text;
  std::string expected;
  for (int i = 0; i < 200'000; ++i) {
    text += "password=x ";
    expected += "password=<redacted> ";
  }
  ASSERT_TRUE(redact_text(text));
  EXPECT_EQ(text, expected);
  std::string prefixes;
  for (int i = 0; i < 300'000; ++i) {
    prefixes += "sk-";
  }
  ASSERT_TRUE(redact_text(prefixes));
  EXPECT_EQ(prefixes, "sk-<redacted>");
}

TEST(RedactText, leaves_ordinary_lines_alone) {
  for (const std::string line :
       {"step 100: loss=0.25, tokens=4096, token: 5", "key: value", "sort_key=name",
        "commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b", "http://127.0.0.1:8080/api",
        "password: none", "12:30:05 epoch 1", "kedge_server is up", ""}) {
    std::string text = line;
    EXPECT_FALSE(redact_text(text)) << line;
    EXPECT_EQ(text, line);
  }
}

TEST(RedactValues, names_what_it_hid) {
  nlohmann::json config = {{"optimizer", {{"lr", 0.1}}},
                           {"key", "loss"},
                           {"api", {{"key", "abc"}}},
                           {"db", {{"password", "pw"}, {"url", "postgres://me:pw@host/x"}}},
                           {"list", {"ghp_abcdefghijklmnopqrstuvwxyz0123456789"}}};
  EXPECT_THAT(redact_values(config), ElementsAre("api.key", "db.password", "db.url", "list"));
  EXPECT_EQ(config["key"], "loss");
  EXPECT_EQ(config["optimizer"]["lr"], 0.1);
  EXPECT_EQ(config["api"]["key"], "<redacted>");
  EXPECT_EQ(config["db"]["url"], "postgres://<redacted>@host/x");
}

}  // namespace
}  // namespace kedge
