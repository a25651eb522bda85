#include "store/query.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kedge::store {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kDay = 86'400'000'000;
constexpr std::int64_t kNovember1 = 1'793'491'200'000'000;  // date -ud 2026-11-01 +%s, times 10^6
constexpr std::int64_t kNow = kNovember1 + 14 * kDay;

class Keys : public QueryKeys {
 public:
  std::optional<KeyId> find_config(std::string_view key) const override {
    return find(config_, key);
  }

  std::optional<KeyId> find_metric(std::string_view key) const override {
    return find(metrics_, key);
  }

  std::optional<KeyId> find_label(std::string_view key) const override {
    return find(labels_, key);
  }

  std::vector<std::string> config_names() const override { return config_; }

  std::vector<std::string> metric_names() const override { return metrics_; }

  std::vector<std::string> label_names() const override { return labels_; }

 private:
  static std::optional<KeyId> find(const std::vector<std::string>& names, std::string_view key) {
    const auto found = std::ranges::find(names, key);
    return found == names.end() ? std::nullopt
                                : std::optional(static_cast<KeyId>(found - names.begin()));
  }

  std::vector<std::string> config_ = {"lr",   "model.name", "seed", "amp",
                                      "none", "version",    "a.b",  "caf\xC3\xA9"};
  std::vector<std::string> metrics_ = {"loss", "val/accuracy", "gpu.min", "and", "odd name"};
  std::vector<std::string> labels_ = {"mlflow.user"};
};

struct FakeRun : QueriedRun {
  std::map<RunFact, QueryValue> facts;
  std::map<std::string, QueryValue> configs;
  std::map<std::pair<std::string, SummaryPart>, QueryValue> metrics;
  std::vector<std::string> tags;
  std::map<std::string, QueryValue> labels;

  QueryValue fact(RunFact fact) const override { return find(facts, fact); }

  QueryValue config(KeyId key) const override { return find(configs, Keys().config_names()[key]); }

  QueryValue summary(KeyId key, SummaryPart part) const override {
    return find(metrics, std::pair(Keys().metric_names()[key], part));
  }

  QueryValue label(KeyId key) const override { return find(labels, Keys().label_names()[key]); }

  std::size_t tag_count() const override { return tags.size(); }

  std::string_view tag(std::size_t index) const override { return tags[index]; }

  template <typename Map>
  static QueryValue find(const Map& map, const typename Map::key_type& key) {
    const auto found = map.find(key);
    return found == map.end() ? QueryValue() : found->second;
  }
};

FakeRun example() {
  FakeRun run;
  run.facts = {{RunFact::Id, "20261115-042133-k3f9q2"},
               {RunFact::Name, "resnet18-b\xC3\xA4r"},
               {RunFact::State, "running"},
               {RunFact::User, "ada"},
               {RunFact::Created, kNovember1 + 10 * kDay},
               {RunFact::Duration, 5400.0},
               {RunFact::Attempt, std::int64_t{2}},
               {RunFact::LastStep, std::int64_t{12000}}};
  run.configs = {{"lr", 0.001},
                 {"model.name", "resnet18"},
                 {"seed", std::int64_t{9007199254740993}},  // 2^53 + 1
                 {"amp", true},
                 {"none", nullptr},
                 {"version", "7"},
                 {"a.b", std::int64_t{1}},
                 {"caf\xC3\xA9", "ol\xC3\xA9"}};
  run.metrics = {{{"loss", SummaryPart::Last}, 0.05},
                 {{"loss", SummaryPart::Min}, 0.01},
                 {{"loss", SummaryPart::Max}, 2.3},
                 {{"loss", SummaryPart::Count}, std::int64_t{120}},
                 {{"val/accuracy", SummaryPart::Last}, kNaN},
                 {{"gpu.min", SummaryPart::Last}, 7.0},
                 {{"gpu.min", SummaryPart::Max}, 8.0},
                 {{"and", SummaryPart::Last}, 1.0},
                 {{"odd name", SummaryPart::Last}, 1.0}};
  run.tags = {"paper", "v2"};
  return run;
}

bool matches(const std::string& text) {
  const Result<RunFilter> filter = RunFilter::compile(text, Keys(), kNow);
  EXPECT_TRUE(filter) << text << ": " << filter.error().message;
  return filter && filter->matches(example());
}

std::string error_of(const std::string& text) {
  const Result<RunFilter> filter = RunFilter::compile(text, Keys(), kNow);
  return filter ? "no error" : filter.error().message;
}

TEST(query, nothing_asked_is_every_run) {
  EXPECT_TRUE(matches(""));
  EXPECT_TRUE(matches("  \n"));
}

TEST(query, metrics_are_bare_names_and_mean_the_last_value) {
  EXPECT_TRUE(matches("loss < 0.1"));
  EXPECT_TRUE(matches("loss<=5e-2 and loss>=0.05 and loss==0.05"));
  EXPECT_FALSE(matches("loss != 0.05"));
  EXPECT_TRUE(matches("loss.min < 0.02 and loss.max > 2 and loss.count = 120"));
  EXPECT_TRUE(matches("summary.loss < 0.1 and summary.loss.min = 0.01 and loss.last < 1"));
}

TEST(query, backquotes_take_a_name_as_it_is) {
  EXPECT_TRUE(matches("`gpu.min` = 7"));
  EXPECT_TRUE(matches("`gpu.min`.max = 8"));
  EXPECT_TRUE(matches("summary.`gpu.min` = 7"));
  EXPECT_FALSE(matches("gpu.min = 7"));  // the least value of a metric "gpu"
  EXPECT_TRUE(matches("`odd name` = 1 and `and` = 1"));
}

TEST(query, config_keys_have_types) {
  EXPECT_TRUE(matches("config.lr in [1e-3, 1e-2]"));
  EXPECT_FALSE(matches("config.lr not in [1e-3, 1e-2]"));
  EXPECT_TRUE(matches("config.model.name = resnet18"));
  EXPECT_TRUE(matches("config.amp = true and config.amp != false and config.amp = True"));
  EXPECT_FALSE(matches("config.amp = 1"));
  EXPECT_TRUE(matches("config.none = null and exists config.none"));
  EXPECT_TRUE(matches("config.a.b = 1 and config.`a.b` = 1.0 and config.a.`b` = 1"));
  EXPECT_FALSE(matches("config.lr in []"));
}

TEST(query, text_and_numbers_are_never_equal_and_never_an_error) {
  EXPECT_FALSE(matches("config.version = 7"));
  EXPECT_TRUE(matches("config.version != 7"));
  EXPECT_TRUE(matches("config.version = \"7\""));
  EXPECT_FALSE(matches("config.lr = \"0.001\""));
  EXPECT_FALSE(matches("config.lr < zebra"));
  EXPECT_FALSE(matches("config.version > 1"));
  EXPECT_FALSE(matches("config.lr ~ 0"));
}

TEST(query, large_integers_are_exact) {
  EXPECT_TRUE(matches("config.seed = 9007199254740993"));
  EXPECT_FALSE(matches("config.seed = 9007199254740992"));
  EXPECT_TRUE(matches("config.seed > 9007199254740992"));
}

TEST(query, nan_is_equal_to_nan_and_in_no_order) {
  EXPECT_TRUE(matches("val/accuracy = nan"));
  EXPECT_FALSE(matches("val/accuracy < 1 or val/accuracy >= 1"));
  EXPECT_TRUE(matches("val/accuracy != 0.9"));
  EXPECT_TRUE(matches("loss < inf and loss > -inf and loss != NaN"));
}

TEST(query, what_is_missing_is_only_unequal) {
  EXPECT_FALSE(matches("exists user_metric"));
  EXPECT_FALSE(matches("config.momentum = 1 or config.momentum < 1 or config.momentum >= 1"));
  EXPECT_TRUE(matches("config.momentum != 1"));
  EXPECT_FALSE(matches("exists ended"));
  EXPECT_TRUE(matches("exists config.seed and exists loss.min and exists tag"));
}

TEST(query, and_binds_tighter_than_or_and_not_tighter_still) {
  // loss < 1 is true, loss > 1 false
  EXPECT_TRUE(matches("loss < 1 or loss > 1 and loss > 1"));
  EXPECT_FALSE(matches("(loss < 1 or loss > 1) and loss > 1"));
  EXPECT_FALSE(matches("not loss < 1 and loss < 1"));
  EXPECT_FALSE(matches("not (loss < 1 or loss > 1)"));
  EXPECT_TRUE(matches("not not loss < 1"));
  EXPECT_TRUE(matches("NOT loss > 1 AND loss < 1 Or loss > 1"));
}

TEST(query, any_tag_will_do) {
  EXPECT_TRUE(matches("tag = \"paper\""));
  EXPECT_TRUE(matches("tag = v2 and tag in [x, paper]"));
  EXPECT_FALSE(matches("tag != paper"));
  EXPECT_TRUE(matches("tag != other"));
  EXPECT_FALSE(matches("tag not in [v2]"));
  EXPECT_TRUE(matches("tag ~ '^v' and tag !~ z"));
}

TEST(query, facts_and_patterns) {
  EXPECT_TRUE(matches("state = running and user in [ada, bob]"));
  EXPECT_TRUE(matches("name ~ \"resnet.*\""));
  EXPECT_TRUE(matches("name ~ '18-b.r$'"));
  EXPECT_FALSE(matches("name !~ net"));
  EXPECT_TRUE(matches("id = 20261115-042133-k3f9q2 and attempt > 1 and last_step >= 1e4"));
  EXPECT_TRUE(matches("config.caf\xC3\xA9 = ol\xC3\xA9"));
  EXPECT_TRUE(matches("name > resnet and name < 's'"));
}

TEST(query, times) {  // created on 11 November, at midnight
  EXPECT_TRUE(matches("created > \"2026-11-01\""));
  EXPECT_TRUE(matches("created > -7d and created < -1d12h"));
  EXPECT_FALSE(matches("created > -3d"));
  EXPECT_TRUE(matches("created = \"2026-11-11\" and created = 2026-11 and created = 2026"));
  EXPECT_FALSE(matches("created = 2026-11-10"));
  EXPECT_TRUE(matches("created = '2026-11-11T00:00:00Z' and created = '2026-11-11 02:00+02:00'"));
  EXPECT_TRUE(matches("created >= 1794355200 and created <= 1794355200.0"));
  EXPECT_TRUE(matches("duration = 1.5h and duration < 2h and duration >= 5400"));
}

TEST(query, errors_name_the_column_and_what_was_expected) {
  EXPECT_EQ(
      error_of("loss 0.1"),
      "filter, column 6: expected =, !=, <, <=, >, >=, ~, !~ or 'in' after 'loss', got '0.1'");
  EXPECT_EQ(error_of("loss <"), "filter, column 7: expected a value, got the end");
  EXPECT_EQ(error_of("(loss < 1"), "filter, column 10: expected 'and', 'or' or ')', got the end");
  EXPECT_EQ(error_of("loss < 1 loss > 2"),
            "filter, column 10: expected 'and', 'or' or the end, got 'loss'");
  EXPECT_EQ(error_of("config.caf\xC3\xA9 = 'x"), "filter, column 15: the text has no closing '");
  EXPECT_EQ(error_of("loss in 3"), "filter, column 9: expected '[' after 'in', got '3'");
  EXPECT_EQ(error_of("loss in [3 4]"), "filter, column 12: expected ',' or ']', got '4'");
  EXPECT_EQ(error_of("and loss < 1"), "filter, column 1: expected a field, got 'and'");
  EXPECT_EQ(error_of("created > yesterday"), "filter, column 11: expected a time, got 'yesterday'");
  EXPECT_EQ(error_of("created = 2026-02-30"),
            "filter, column 11: expected a time, got '2026-02-30'");
  EXPECT_EQ(error_of("loss < 1 & loss > 0"), "filter, column 10: '&' has no meaning here");
  EXPECT_EQ(error_of("name ~ 'a('"), "filter, column 8: the pattern has '(' without ')'");
  EXPECT_EQ(error_of("config. = 1"), "filter, column 1: expected a key after 'config.'");
  EXPECT_EQ(error_of("`x = 1"), "filter, column 1: the name has no closing `");
  EXPECT_EQ(error_of("a = \xFF"), "the filter is not UTF-8");
}

TEST(query, a_slip_is_told_with_the_nearest_name) {
  EXPECT_EQ(error_of("sate = running"),
            "filter, column 1: no field or metric is named 'sate'; did you mean 'state'?");
  const auto filter =
      RunFilter::compile("los < 1 and config.lrr = 2 and val/accuracy > 0", Keys(), 0);
  ASSERT_TRUE(filter);
  EXPECT_THAT(filter->warnings(),
              ElementsAre("no run has the metric 'los'; did you mean 'loss'?",
                          "no run has the config key 'lrr'; did you mean 'lr'?"));
}

TEST(query, limits_hold) {
  EXPECT_THAT(error_of(std::string(70, '(') + "loss < 1" + std::string(70, ')')),
              HasSubstr("more than 64 levels"));
  EXPECT_TRUE(matches(std::string(60, '(') + "loss < 1" + std::string(60, ')')));
  EXPECT_THAT(error_of(std::string(65537, ' ')), HasSubstr("65536 are the limit"));
  std::string chain = "loss < 1";
  for (int i = 0; i < 3000; ++i) {
    chain += " and loss < 1";
  }
  EXPECT_TRUE(matches(chain));
  std::string nots;
  for (int i = 0; i < 100; ++i) {
    nots += "not ";
  }
  EXPECT_THAT(error_of(nots + "loss < 1"), HasSubstr("more than 64 levels"));
}

std::vector<std::size_t> sorted(const std::vector<std::string>& terms,
                                const std::vector<FakeRun>& runs, std::size_t offset = 0,
                                std::size_t limit = 100) {
  const Result<RunOrder> order = RunOrder::compile(terms, Keys());
  EXPECT_TRUE(order) << order.error().message;
  std::vector<const QueriedRun*> pointers;
  for (const FakeRun& run : runs) {
    pointers.push_back(&run);
  }
  return order->sorted(pointers, offset, limit);
}

std::vector<FakeRun> runs_with_loss(const std::vector<QueryValue>& losses) {
  std::vector<FakeRun> runs;
  for (const QueryValue& loss : losses) {
    FakeRun run;
    run.metrics[{"loss", SummaryPart::Last}] = loss;
    runs.push_back(run);
  }
  return runs;
}

TEST(order, missing_comes_last_and_nan_before_it_both_ways) {
  const auto runs = runs_with_loss({QueryValue(), kNaN, 2.0, 1.0, "text", std::int64_t{3}, true});
  EXPECT_THAT(sorted({"loss"}, runs), ElementsAre(3, 6, 2, 5, 4, 1, 0));
  EXPECT_THAT(sorted({"-loss"}, runs), ElementsAre(5, 2, 3, 6, 4, 1, 0));
}

TEST(order, pages_are_cut_from_one_order) {
  const auto runs = runs_with_loss({5.0, 3.0, 4.0, 1.0, 2.0});
  EXPECT_THAT(sorted({"-summary.loss"}, runs, 1, 2), ElementsAre(2, 1));
  EXPECT_THAT(sorted({"loss"}, runs, 3, 100), ElementsAre(2, 0));
  EXPECT_THAT(sorted({"loss"}, runs, 9, 2), ElementsAre());
}

TEST(order, equal_ones_ask_the_next_term_and_then_keep_their_order) {
  auto runs = runs_with_loss({1.0, 1.0, 1.0, 0.0});
  runs[0].configs["lr"] = 0.1;
  runs[1].configs["lr"] = 0.3;
  runs[2].configs["lr"] = 0.1;
  EXPECT_THAT(sorted({"loss", "-config.lr"}, runs), ElementsAre(3, 1, 0, 2));
  EXPECT_THAT(sorted({}, runs), ElementsAre(0, 1, 2, 3));
}

TEST(order, large_integers_do_not_run_together) {
  const auto runs = runs_with_loss(
      {std::int64_t{9007199254740993}, std::int64_t{9007199254740992}, 9007199254740994.0});
  EXPECT_THAT(sorted({"loss"}, runs), ElementsAre(1, 0, 2));
}

TEST(order, errors_say_that_it_is_the_order) {
  const std::vector<std::string> terms = {"loss min"};
  EXPECT_EQ(RunOrder::compile(terms, Keys()).error().message,
            "order, column 6: expected one field, got also 'min'");
}

TEST(field_name, names_are_read_as_in_filters) {
  const auto config = parse_field_name("config.optimizer.lr");
  ASSERT_TRUE(config);
  EXPECT_EQ(config->kind, FieldName::Kind::Config);
  EXPECT_EQ(config->key, "optimizer.lr");
  const auto part = parse_field_name("val/accuracy.max");
  ASSERT_TRUE(part);
  EXPECT_EQ(part->kind, FieldName::Kind::Summary);
  EXPECT_EQ(part->key, "val/accuracy");
  EXPECT_EQ(part->part, SummaryPart::Max);
  const auto alone = parse_field_name("summary.min");
  ASSERT_TRUE(alone);
  EXPECT_EQ(alone->key, "min");
  EXPECT_EQ(alone->part, SummaryPart::Last);
  EXPECT_FALSE(parse_field_name(""));
}

}  // namespace
}  // namespace kedge::store
