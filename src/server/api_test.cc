#include "server/api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace kedge::server {
namespace {

class CountedPushes : public http::PushStream {
 public:
  void finish() override {}

  bool push(std::shared_ptr<const std::string> text) override {
    const std::scoped_lock lock(mutex_);
    texts_.push_back(*text);
    changed_.notify_all();
    return true;
  }

  std::vector<std::string> wait_for(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(10), [&] { return texts_.size() >= count; });
    return texts_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> texts_;
};

TEST(EventHub, gathers_changes_of_one_run) {
  EventHub hub;
  const auto all = std::make_shared<CountedPushes>();
  const auto other = std::make_shared<CountedPushes>();
  const auto kept = hub.subscribe({}, all);
  const auto kept_other = hub.subscribe({.project = "other"}, other);
  const store::Change first{{"p", "r"}, store::kChangedMetrics, 0};
  hub.note({&first, 1});
  ASSERT_EQ(all->wait_for(1).size(), 1U);
  for (int i = 1; i < 1000; ++i) {
    const store::Change change{{"p", "r"}, store::kChangedMetrics, i};
    hub.note({&change, 1});
  }
  const store::Change facts{{"p", "r"}, store::kChangedFacts, {}};
  hub.note({&facts, 1});
  const auto texts = all->wait_for(2);
  ASSERT_EQ(texts.size(), 2U);
  const auto last = nlohmann::json::parse(texts.back().substr(6));
  EXPECT_EQ(last.at("what"), nlohmann::json({"facts", "metrics"}));
  EXPECT_EQ(last.at("last_step"), 999);
  EXPECT_THAT(other->wait_for(0), testing::IsEmpty());
}

TEST(EventHub, forgets_who_is_gone) {
  EventHub hub;
  auto kept = hub.subscribe({}, std::make_shared<CountedPushes>());
  EXPECT_EQ(hub.subscriber_count(), 1U);
  kept.reset();
  EXPECT_EQ(hub.subscriber_count(), 0U);
}

TEST(ParseJson, refuses_what_would_exhaust_the_stack) {
  EXPECT_TRUE(parse_json(std::string(100, '[') + std::string(100, ']')).has_value());
  EXPECT_FALSE(parse_json(std::string(101, '[') + std::string(101, ']')).has_value());
  EXPECT_TRUE(parse_json(R"({"a": "[[[[\"[[[["})").has_value());
  const auto bad = parse_json("{\"a\": }");
  ASSERT_FALSE(bad.has_value());
  EXPECT_THAT(bad.error().message, testing::HasSubstr("line 1, column 7"));
}

}  // namespace
}  // namespace kedge::server
