// What a store takes from event logs, on each database.
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/hash.h"
#include "core/result.h"
#include "store/store.h"
#include "store/test_backend.h"
#include "store/test_log.h"

namespace kedge::store {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::SizeIs;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::string make_log(std::uint64_t from, std::uint64_t to) {
  std::string frames;
  for (std::uint64_t seq = from; seq < to; ++seq) {
    frames += make_frame({"scalars",
                          seq,
                          kNow + static_cast<std::int64_t>(seq),
                          static_cast<std::int64_t>(seq),
                          {{"loss", 1.0 / (1.0 + static_cast<double>(seq))}}});
  }
  return frames;
}

// The chain, computed here by hand.
std::string chain_digest(std::uint64_t count) {
  std::uint64_t value = 0;
  for (std::uint64_t seq = 0; seq < count; ++seq) {
    std::string bytes(reinterpret_cast<const char*>(&value), sizeof value);
    bytes += make_log(seq, seq + 1).substr(8);
    value = xxh3_64(as_bytes(bytes));
  }
  return fmt::format("{:016x}", value);
}

class LogsTest : public BackendTest {};

KEDGE_EACH_BACKEND(LogsTest);

TEST_P(LogsTest, each_record_of_a_log_counts_once_however_often_it_comes) {
  const RunKey key{"mnist", "r"};
  EXPECT_EQ(store_->find_source(key, "a1-r0")->next_seq, 0U);
  EXPECT_EQ(ingest(key, "a1-r0", 0, make_log(0, 10)).accepted, 10U);
  EXPECT_EQ(ingest(key, "a1-r0", 0, make_log(0, 10)).accepted, 0U);
  EXPECT_EQ(ingest(key, "a1-r0", 5, make_log(5, 20)).accepted, 10U);
  const IngestAnswer gap = ingest(key, "a1-r0", 21, make_log(21, 30));
  EXPECT_TRUE(gap.is_gap);
  EXPECT_EQ(gap.state.next_seq, 20U);
  reopen();
  EXPECT_EQ(ingest(key, "a1-r0", 3, make_log(3, 25)).accepted, 5U);
  const auto state = store_->find_source(key, "a1-r0");
  ASSERT_TRUE(state);
  EXPECT_EQ(state->next_seq, 25U);
  EXPECT_EQ(state->offset, make_log(0, 25).size());
  EXPECT_EQ(state->digest, chain_digest(25));
  std::vector<double> expected;
  for (int i = 0; i < 25; ++i) {
    expected.push_back(1.0 / (1.0 + i));
  }
  EXPECT_EQ(values_of(key, "loss"), expected);
  EXPECT_EQ(store_->find_facts(key)->last_step, 24);
}

TEST_P(LogsTest, damaged_frames_are_refused_whole) {
  const RunKey key{"mnist", "r"};
  std::string frames = make_log(0, 3);
  frames[frames.size() - 2] ^= 1;
  EXPECT_EQ(store_->ingest({key, "a1-r0", 0, frames}, kNow).error().kind, ErrorKind::Corrupt);
  frames = make_log(0, 3);
  frames.pop_back();
  EXPECT_EQ(store_->ingest({key, "a1-r0", 0, frames}, kNow).error().kind, ErrorKind::Corrupt);
  // A whole frame in the wrong place.
  EXPECT_EQ(store_->ingest({key, "a1-r0", 0, make_log(1, 3)}, kNow).error().kind,
            ErrorKind::Corrupt);
  EXPECT_FALSE(store_->find_facts(key));
}

TEST_P(LogsTest, a_log_tells_of_attempts_tags_console_records_and_the_end) {
  const RunKey key{"mnist", "r"};
  std::string frames;
  frames += make_frame(
      {"attempt",
       0,
       kNow,
       0,
       {{"attempt", 1}, {"from_step", 0}, {"host", "node1"}, {"changes", json::array()}}});
  frames += make_frame({"tags", 1, kNow, 0, {{"tags", {"one", "two"}}}});
  frames += make_frame({"console", 2, kNow + 1, 0, {{"line", "hello"}}});
  frames +=
      make_frame({"histogram", 3, kNow, 5, {{"key", "w"}, {"edges", {0, 1}}, {"counts", {3}}}});
  frames +=
      make_frame({"alert", 4, kNow, 6, {{"title", "hot"}, {"text", "very"}, {"level", "warning"}}});
  frames += make_frame({"system", 5, kNow, 6, {{"cpu/percent", 12}}});
  frames += make_frame({"system", 6, kNow + kSecond, 6, {{"cpu/percent", 13.5}}});
  frames += make_frame({"summary", 7, kNow, 6, {{"val/acc", 0.9}}});
  frames += make_frame({"unheard-of", 8, kNow, 6, {{"key", "k"}}});
  frames += make_frame({"state", 9, kNow + 9, 6, {{"state", "interrupted"}}});
  EXPECT_EQ(ingest(key, "a1-r0", 0, frames).accepted, 10U);
  reopen();
  const auto run = store_->find_run(key);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->facts.state, RunState::Preempted);
  EXPECT_EQ(run->facts.ended_us, kNow + 9);
  EXPECT_EQ(run->facts.host, "node1");
  EXPECT_THAT(run->facts.tags, ElementsAre("one", "two"));
  EXPECT_EQ(run->summary["val/acc"]["last"], 0.9);
  EXPECT_EQ(store_->read_console(key, 0, 10)->lines.at(0).text, "hello");
  const auto records = store_->read_records(key, {.type = "histogram"});
  ASSERT_TRUE(records);
  ASSERT_THAT(records->records, SizeIs(1));
  EXPECT_EQ(records->records[0].body["counts"], json({3}));
  EXPECT_THAT(records->keys, ElementsAre("w"));
  EXPECT_EQ(store_->list_alerts("mnist", 5)->at(0).record.body["text"], "very");
  const auto cpu = store_->read_history(key, "cpu/percent", MetricKind::System);
  ASSERT_TRUE(cpu);
  ASSERT_THAT(cpu->points, SizeIs(2));  // at one step, and both count
  EXPECT_EQ(cpu->points[1].value, 13.5);
  EXPECT_EQ(store_->list_attempts(key)->at(0).state, "interrupted");
}

TEST_P(LogsTest, a_summary_in_a_log_leaves_curves_to_themselves) {
  const RunKey key{"mnist", "r"};
  std::string frames = make_frame({"scalars", 0, kNow, 1, {{"acc", 0.5}}});
  frames += make_frame({"summary", 1, kNow, 1, {{"acc", 0.5}, {"best/acc", kInfinity}}});
  frames += make_frame({"scalars", 2, kNow, 2, {{"acc", 0.75}}});
  ingest(key, "a1-r0", 0, frames);
  for (const bool is_reopened : {false, true}) {
    if (is_reopened) {
      reopen();
    }
    EXPECT_EQ(store_->find_run(key)->summary["acc"]["last"], 0.75);
    EXPECT_EQ(store_->find_run(key)->summary["best/acc"]["last"], "Infinity");
    EXPECT_THAT(find_ids({.filter = "best/acc > 1e300"}), ElementsAre("r"));
  }
}

TEST_P(LogsTest, records_keep_numbers_that_json_does_not_have) {
  const RunKey key{"mnist", "r"};
  const json rows = {{1.5, std::nan("")}, {-kInfinity, "text"}};
  ingest(key, "a1-r0", 0, make_frame({"table", 0, kNow, 1, {{"key", "t"}, {"rows", rows}}}));
  const auto found = store_->read_records(key, {.type = "table"});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->records.at(0).body["rows"], (json{{1.5, "NaN"}, {"-Infinity", "text"}}));
}

}  // namespace
}  // namespace kedge::store
