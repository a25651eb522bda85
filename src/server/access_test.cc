#include "server/access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/hex.h"
#include "core/scratch_folder.h"
#include "server/internal/secrets.h"

namespace kedge::server {
namespace {

// RFC 7914, section 12.
TEST(Scrypt, gives_the_test_vectors_of_its_rfc) {
  EXPECT_EQ(render_hex(scrypt("", "", {.log2_n = 4, .r = 1, .p = 1}, 64)),
            "77d6576238657b203b19ca42c18a0497f16b4844e3074ae8dfdffa3fede21442"
            "fcd0069ded0948f8326a753a0fc81f17e8d3e0fb2e0d3628cf35e20c38d18906");
  EXPECT_EQ(render_hex(scrypt("password", "NaCl", {.log2_n = 10, .r = 8, .p = 16}, 64)),
            "fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b373162"
            "2eaf30d92e22a3886ff109279d9830dac727afb94a83ee6d8360cbdfa2cc0640");
}

TEST(Password, is_known_again_and_no_other_is) {
  const std::string hashed = hash_password("correct horse");
  EXPECT_TRUE(is_password("correct horse", hashed));
  EXPECT_FALSE(is_password("correct horsf", hashed));
  EXPECT_FALSE(is_password("", ""));
  EXPECT_NE(hashed, hash_password("correct horse"));
}

class AccessTest : public testing::Test {
 protected:
  void SetUp() override { open({.needs_login = true}); }

  void open(AccessOptions options) {
    access_.reset();
    store_.reset();
    auto store = store::Store::open(folder_.path().string(), now_us_);
    ASSERT_TRUE(store.has_value()) << store.error().message;
    store_ = std::move(*store);
    auto access = Access::open(*store_, std::move(options), [this] { return now_us_; });
    ASSERT_TRUE(access.has_value()) << access.error().message;
    access_ = std::move(*access);
  }

  static http::Request request(http::Method method, const std::string& authorization = "") {
    http::Request made;
    made.method = method;
    made.peer = "10.0.0.1";
    made.headers.add("host", "127.0.0.1:8080");
    if (!authorization.empty()) {
      made.headers.add("authorization", authorization);
    }
    return made;
  }

  static http::Route route(http::Role role, bool is_scoped = false) {
    return {.pattern = "/x",
            .options = {.role = role, .is_scoped = is_scoped},
            .handler = {},
            .quick = {}};
  }

  int status(http::Request made, const http::Route& to) {
    const auto refusal = access_->check(made, &to);
    return refusal ? refusal->status : 200;
  }

  std::string token(http::Role role, const std::string& project = "", std::int64_t expires_us = 0) {
    auto made = access_->make_grant(
        {.user = "ann", .role = role, .project = project, .expires_us = expires_us});
    EXPECT_TRUE(made.has_value());
    return "Bearer " + made->secret;
  }

  ScratchFolder folder_;
  std::int64_t now_us_ = 1'000'000;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<Access> access_;
};

TEST_F(AccessTest, asks_for_a_token_that_is_enough) {
  ASSERT_TRUE(access_->put_user("ann", http::Role::Write, std::nullopt));
  EXPECT_EQ(status(request(http::Method::Get), route(http::Role::View)), 401);
  EXPECT_EQ(status(request(http::Method::Get, "Bearer nonsense"), route(http::Role::View)), 401);
  EXPECT_EQ(status(request(http::Method::Get), route(http::Role::None)), 200);
  const std::string view = token(http::Role::View);
  EXPECT_EQ(status(request(http::Method::Get, view), route(http::Role::View)), 200);
  EXPECT_EQ(status(request(http::Method::Post, view), route(http::Role::Write)), 403);
  EXPECT_EQ(status(request(http::Method::Post, token(http::Role::Admin)), route(http::Role::Admin)),
            403)
      << "a token is never more than its user";
}

TEST_F(AccessTest, knows_users_and_tokens_after_a_restart) {
  ASSERT_TRUE(access_->put_user("ann", http::Role::Write, "long enough"));
  const std::string write = token(http::Role::Write);
  open({.needs_login = true});
  EXPECT_EQ(status(request(http::Method::Post, write), route(http::Role::Write)), 200);
  ASSERT_TRUE(access_->put_user("ann", http::Role::View, std::nullopt));
  EXPECT_EQ(status(request(http::Method::Post, write), route(http::Role::Write)), 403);
  ASSERT_TRUE(access_->remove_user("ann").value_or(false));
  EXPECT_EQ(status(request(http::Method::Get, write), route(http::Role::View)), 401);
}

TEST_F(AccessTest, takes_no_token_after_its_time) {
  ASSERT_TRUE(access_->put_user("ann", http::Role::Write, std::nullopt));
  const std::string brief = token(http::Role::View, "", now_us_ + 10);
  EXPECT_EQ(status(request(http::Method::Get, brief), route(http::Role::View)), 200);
  now_us_ += 10;
  EXPECT_EQ(status(request(http::Method::Get, brief), route(http::Role::View)), 401);
}

TEST_F(AccessTest, confines_a_key_to_its_project) {
  ASSERT_TRUE(access_->put_user("ann", http::Role::Write, std::nullopt));
  const std::string key = token(http::Role::Write, "mnist");
  http::Request inside = request(http::Method::Get, key);
  inside.parameters = {{"project", "mnist"}, {"id", "a"}};
  http::Request outside = request(http::Method::Get, key);
  outside.parameters = {{"project", "other"}, {"id", "a"}};
  EXPECT_EQ(status(inside, route(http::Role::View)), 200);
  EXPECT_EQ(status(outside, route(http::Role::View)), 404);
  EXPECT_EQ(status(request(http::Method::Get, key), route(http::Role::View)), 403);
  EXPECT_EQ(status(request(http::Method::Get, key), route(http::Role::View, true)), 200);
}

TEST_F(AccessTest, takes_a_token_as_the_password_of_other_clients) {
  ASSERT_TRUE(access_->put_user("ann", http::Role::Write, std::nullopt));
  const std::string secret = token(http::Role::View).substr(7);
  // "api:" and the token, in base64 by hand: of the three bytes "api" comes "YXBp".
  EXPECT_EQ(status(request(http::Method::Get, "Basic !!!"), route(http::Role::View)), 401);
  EXPECT_EQ(status(request(http::Method::Get, "Basic YXBpOng="), route(http::Role::View)),
            401);  // api:x
  EXPECT_FALSE(secret.empty());
}

TEST_F(AccessTest, takes_name_and_password_with_every_call_until_the_password_changes) {
  ASSERT_TRUE(access_->put_user("ann", http::Role::Write, "long enough"));
  // printf 'ann:long enough' | base64
  const auto right = [] { return request(http::Method::Get, "Basic YW5uOmxvbmcgZW5vdWdo"); };
  EXPECT_EQ(status(right(), route(http::Role::Write)), 200);
  EXPECT_EQ(status(right(), route(http::Role::Admin)), 403);
  // printf 'ann:long enougx' | base64
  EXPECT_EQ(
      status(request(http::Method::Get, "Basic YW5uOmxvbmcgZW5vdWd4"), route(http::Role::View)),
      401);
  ASSERT_TRUE(access_->put_user("ann", http::Role::Write, "another one"));
  EXPECT_EQ(status(right(), route(http::Role::Write)), 401);
}

TEST_F(AccessTest, a_key_for_a_project_follows_its_new_name) {
  ASSERT_TRUE(access_->put_user("ann", http::Role::Write, std::nullopt));
  http::Request made = request(http::Method::Get, token(http::Role::View, "mnist"));
  made.parameters = {{"project", "digits"}};
  EXPECT_EQ(status(made, route(http::Role::View)), 404);
  access_->rename_project("mnist", "digits");
  EXPECT_EQ(status(made, route(http::Role::View)), 200);
}

TEST_F(AccessTest, logs_in_with_the_right_password_only) {
  ASSERT_TRUE(access_->put_user("ann", http::Role::Write, "long enough"));
  EXPECT_FALSE(access_->put_user("ann", http::Role::Write, "short").has_value());
  EXPECT_FALSE(access_->put_user("a b", http::Role::Write, "long enough").has_value());
  const auto session = access_->login("ann", "long enough", "10.0.0.1");
  ASSERT_TRUE(session.has_value() && session->has_value());
  EXPECT_FALSE(access_->login("ann", "wrong", "10.0.0.1").value().has_value());
  EXPECT_FALSE(access_->login("bob", "long enough", "10.0.0.1").value().has_value());
  http::Request page = request(http::Method::Post);
  page.headers.add("cookie", "a=b; kedge_session_8080=" + (*session)->secret);
  EXPECT_EQ(status(page, route(http::Role::Write)), 403)
      << "without the token against forged requests";
  page.headers.add("x-csrf-token", csrf_token_of((*session)->secret));
  EXPECT_EQ(status(page, route(http::Role::Write)), 200);
  EXPECT_EQ(status(page, route(http::Role::Admin)), 403);
  ASSERT_TRUE(access_->logout(page));
  EXPECT_EQ(status(page, route(http::Role::View)), 401);
}

TEST_F(AccessTest, ends_sessions_and_tokens_with_the_password) {
  ASSERT_TRUE(access_->put_user("ann", http::Role::Write, "long enough"));
  const std::string key = token(http::Role::Write);
  const auto session = access_->login("ann", "long enough", "10.0.0.1").value();
  ASSERT_TRUE(access_->put_user("ann", http::Role::View, std::nullopt)) << "a role ends nothing";
  EXPECT_EQ(status(request(http::Method::Get, key), route(http::Role::View)), 200);
  ASSERT_TRUE(access_->put_user("ann", http::Role::Write, "another one"));
  EXPECT_EQ(status(request(http::Method::Get, key), route(http::Role::View)), 401);
  http::Request page = request(http::Method::Get);
  page.headers.add("cookie", "kedge_session_8080=" + session->secret);
  EXPECT_EQ(status(page, route(http::Role::View)), 401);
  open({.needs_login = true});
  EXPECT_EQ(status(request(http::Method::Get, key), route(http::Role::View)), 401)
      << "also after a restart";
}

TEST_F(AccessTest, makes_nobody_where_nobody_logs_in) {
  open({.needs_login = false});
  EXPECT_FALSE(access_->put_user("eve", http::Role::Admin, "long enough").has_value());
  EXPECT_FALSE(access_->remove_user("ann").has_value());
  EXPECT_FALSE(access_->make_grant({.user = "eve", .role = http::Role::Admin}).has_value());
}

TEST_F(AccessTest, closes_users_that_nobody_vouches_for) {
  ASSERT_TRUE(access_->put_user("eve", http::Role::Admin, "long enough"));
  ASSERT_TRUE(store_->add_audit({.who = "", .what = "user.create", .target = "eve"}));
  open({.needs_login = true});
  EXPECT_FALSE(access_->has_users());
  // printf 'eve:long enough' | base64
  EXPECT_EQ(
      status(request(http::Method::Get, "Basic ZXZlOmxvbmcgZW5vdWdo"), route(http::Role::View)),
      401);
  ASSERT_TRUE(access_->put_user("eve", http::Role::View, "long enough"));
  ASSERT_TRUE(store_->add_audit({.who = "admin", .what = "user.put", .target = "eve"}));
  open({.needs_login = true});
  EXPECT_EQ(
      status(request(http::Method::Get, "Basic ZXZlOmxvbmcgZW5vdWdo"), route(http::Role::View)),
      200);
}

TEST_F(AccessTest, knows_its_owner_by_a_key_that_is_in_no_database) {
  open({.needs_login = true, .owner = Owner{"ann", "kedge_secret"}});
  EXPECT_EQ(status(request(http::Method::Get), route(http::Role::View)), 401);
  EXPECT_EQ(status(request(http::Method::Get, "Bearer kedge_secret"), route(http::Role::Admin)),
            200);
  EXPECT_FALSE(access_->has_users());
  open({.needs_login = true});
  EXPECT_EQ(status(request(http::Method::Get, "Bearer kedge_secret"), route(http::Role::View)),
            401);
}

TEST_F(AccessTest, opens_the_page_once_for_an_entry) {
  open({.needs_login = true, .owner = Owner{"ann", "kedge_secret"}});
  const std::string entry = access_->make_entry({.name = "ann", .role = http::Role::View});
  const auto session = access_->enter(entry).value();
  ASSERT_TRUE(session.has_value());
  EXPECT_FALSE(access_->enter(entry).value().has_value()) << "it was used";
  http::Request page = request(http::Method::Get);
  page.headers.add("cookie", "kedge_session_8080=" + session->secret);
  EXPECT_EQ(status(page, route(http::Role::View)), 200);
  EXPECT_EQ(status(page, route(http::Role::Write)), 403) << "no more than who made it";
  const std::string late = access_->make_entry({.name = "ann", .role = http::Role::View});
  now_us_ += 601'000'000;
  EXPECT_FALSE(access_->enter(late).value().has_value());
}

TEST_F(AccessTest, takes_each_secret_only_where_its_kind_belongs) {
  ASSERT_TRUE(access_->put_user("ann", http::Role::Write, "long enough"));
  const std::string key = token(http::Role::View).substr(7);
  http::Request in_address = request(http::Method::Get);
  in_address.query = {{"share", key}};
  EXPECT_EQ(status(in_address, route(http::Role::View)), 401);
  http::Request in_cookie = request(http::Method::Get);
  in_cookie.headers.add("cookie", "kedge_session_8080=" + key);
  EXPECT_EQ(status(in_cookie, route(http::Role::View)), 401);
  const auto session = access_->login("ann", "long enough", "10.0.0.1").value();
  EXPECT_EQ(
      status(request(http::Method::Get, "Bearer " + session->secret), route(http::Role::View)),
      401);
}

TEST_F(AccessTest, hashes_only_what_may_be_a_password) {
  ASSERT_TRUE(access_->put_user("ann", http::Role::Write, "long enough"));
  const http::Route to = route(http::Role::View);
  // printf 'ann:long enough' | base64
  const http::Request right = request(http::Method::Get, "Basic YW5uOmxvbmcgZW5vdWdo");
  EXPECT_TRUE(access_->is_slow(right, &to));
  EXPECT_EQ(status(right, to), 200);
  EXPECT_FALSE(access_->is_slow(right, &to)) << "it is known now";
  const http::Route open_to_all = route(http::Role::None);
  EXPECT_FALSE(access_->is_slow(request(http::Method::Get, "Basic YXBpOng="), &open_to_all));
  EXPECT_FALSE(access_->is_slow(request(http::Method::Get, token(http::Role::View)), &to));
}

TEST_F(AccessTest, locks_out_who_guesses_and_not_whom_they_guess) {
  ASSERT_TRUE(access_->put_user("ann", http::Role::Write, "long enough"));
  ASSERT_TRUE(access_->login("ann", "long enough", "10.0.0.1").value().has_value());
  for (int i = 0; i < 25; ++i) {
    EXPECT_FALSE(access_->login("ann", "a guess", "10.0.0.66").value().has_value());
  }
  EXPECT_FALSE(access_->login("ann", "long enough!", "10.0.0.66").value().has_value());
  EXPECT_TRUE(access_->login("ann", "long enough", "10.0.0.2").value().has_value());
  EXPECT_TRUE(access_->login("ann", "long enough", "10.0.0.66").value().has_value())
      << "what was right before stays so, also behind one address with who guesses";
}

TEST_F(AccessTest, lets_no_other_site_change_anything) {
  open({.needs_login = false});
  http::Request foreign = request(http::Method::Post);
  foreign.headers.add("origin", "http://evil.example");
  EXPECT_EQ(status(foreign, route(http::Role::Write)), 403);
  http::Request own = request(http::Method::Post);
  own.headers.add("origin", "http://127.0.0.1:8080");
  EXPECT_EQ(status(own, route(http::Role::Write)), 200);
}

TEST_F(AccessTest, answers_only_to_its_own_names) {
  open({.hosts = {"localhost"}});
  for (const auto& [host, expected] : {std::pair{"localhost:8080", 200},
                                       {"127.0.0.1:8080", 200},
                                       {"[::1]:8080", 200},
                                       {"rebound.example:8080", 421}}) {
    http::Request made;
    made.headers.add("host", host);
    EXPECT_EQ(status(made, route(http::Role::View)), expected) << host;
  }
}

TEST_F(AccessTest, slows_down_who_asks_too_often) {
  open({.requests_per_second = 2});
  int answered = 0;
  for (int i = 0; i < 10; ++i) {
    answered += status(request(http::Method::Get), route(http::Role::View)) == 200 ? 1 : 0;
  }
  EXPECT_EQ(answered, 4);  // twice the rate at once
  now_us_ += 1'000'000;
  EXPECT_EQ(status(request(http::Method::Get), route(http::Role::View)), 200);
}

TEST_F(AccessTest, stops_who_guesses) {
  int guesses = 0;
  while (guesses < 1000 &&
         status(request(http::Method::Get, "Bearer guess"), route(http::Role::View)) == 401) {
    ++guesses;
  }
  EXPECT_EQ(guesses, 20);
}

}  // namespace
}  // namespace kedge::server
