// What clients of other dialects sent is kept word for word, on each database.
#include "store/dialect/transcript.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/internal/tables.h"
#include "store/test_backend.h"

namespace kedge::store {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class TranscriptTest : public BackendTest {
 protected:
  Transcript transcript() { return Transcript(*store_); }

  static HistoryRow row(std::int64_t step, double loss) {
    return {.text = fmt::format(R"({{"_step":{},"loss":{}}})", step, loss),
            .step = step,
            .time_us = kNow + step,
            .values = {{"loss", loss}}};
  }

  RowsAnswer put(const RunKey& key, std::uint64_t from, std::vector<HistoryRow> rows) {
    const auto answer = transcript().put_rows(key, {.from = from, .rows = std::move(rows)}, kNow);
    EXPECT_TRUE(answer) << answer.error().message;
    return answer.value_or(RowsAnswer());
  }

  std::vector<std::string> texts(const RunKey& key, const RowQuery& query = {}) {
    const auto rows = transcript().read_rows(key, query);
    EXPECT_TRUE(rows) << rows.error().message;
    std::vector<std::string> texts;
    for (const StoredRow& row : *rows) {
      texts.push_back(row.text);
    }
    return texts;
  }

  std::vector<std::string> console(const RunKey& key) {
    std::vector<std::string> lines;
    const auto found = store_->read_console(key, 0, 100);
    for (const ConsoleLine& line : found->lines) {
      lines.push_back((line.is_error ? "!" : "") + line.text);
    }
    return lines;
  }
};

KEDGE_EACH_BACKEND(TranscriptTest);

TEST_P(TranscriptTest, rows_come_back_word_for_word_and_make_curves) {
  const RunKey key = make_run("r1");
  EXPECT_EQ(put(key, 0, {row(0, 1.5), row(1, 1.25)}).total, 2U);
  EXPECT_EQ(put(key, 2, {row(5, 0.5)}).accepted, 1U);
  reopen();
  EXPECT_THAT(texts(key), ElementsAre(R"({"_step":0,"loss":1.5})", R"({"_step":1,"loss":1.25})",
                                      R"({"_step":5,"loss":0.5})"));
  EXPECT_THAT(values_of(key, "loss"), ElementsAre(1.5, 1.25, 0.5));
  EXPECT_THAT(texts(key, {.from = 1, .limit = 1}), ElementsAre(R"({"_step":1,"loss":1.25})"));
  EXPECT_THAT(texts(key, {.min_step = 1, .max_step = 4}),
              ElementsAre(R"({"_step":1,"loss":1.25})"));
  EXPECT_EQ(transcript().count_rows(key, RowStream::History), 3U);
  EXPECT_EQ(transcript().count_rows(key, RowStream::Events), 0U);
  EXPECT_EQ(store_->find_facts(key)->last_step, 5);
}

TEST_P(TranscriptTest, rows_sent_again_are_taken_once) {
  const RunKey key = make_run("r1");
  put(key, 0, {row(0, 1), row(1, 2)});
  EXPECT_EQ(put(key, 0, {row(0, 1), row(1, 2)}).accepted, 0U);
  EXPECT_EQ(put(key, 1, {row(1, 2), row(2, 3)}).accepted, 1U);
  EXPECT_EQ(texts(key).size(), 3U);
  EXPECT_EQ(store_->list_metrics(key)->at(0).summary.count, 3U);
  EXPECT_EQ(store_->find_facts(key)->attempt, 1);
}

TEST_P(TranscriptTest, other_rows_replace_and_the_old_points_stay_as_an_attempt) {
  const RunKey key = make_run("r1");
  put(key, 0, {row(0, 1), row(1, 2), row(2, 3)});
  EXPECT_EQ(put(key, 1, {row(1, 20)}).total, 2U);
  EXPECT_EQ(texts(key).size(), 2U);
  EXPECT_THAT(values_of(key, "loss"), ElementsAre(1, 20));
  EXPECT_EQ(store_->find_facts(key)->attempt, 2);
  const auto old = store_->read_series({.run = key, .key = "loss", .points = 0, .attempt = 1});
  EXPECT_THAT(old->y, ElementsAre(1, 2, 3));
}

TEST_P(TranscriptTest, a_rewind_keeps_what_lies_before) {
  const RunKey key = make_run("r1");
  put(key, 0, {row(0, 1), row(2, 2), row(4, 3)});
  EXPECT_EQ(transcript().rewind(key, 2, kNow), 2U);
  EXPECT_THAT(values_of(key, "loss"), ElementsAre(1, 2));
  put(key, 2, {row(3, 30)});
  EXPECT_THAT(values_of(key, "loss"), ElementsAre(1, 2, 30));
  EXPECT_EQ(transcript().rewind(key, -1, kNow), 0U);
  EXPECT_THAT(texts(key), IsEmpty());
  EXPECT_THAT(values_of(key, "loss"), IsEmpty());
  put(key, 0, {row(0, 7)});
  reopen();
  EXPECT_THAT(values_of(key, "loss"), ElementsAre(7));
  EXPECT_EQ(store_->find_facts(key)->attempt, 3);
}

TEST_P(TranscriptTest, many_small_batches_become_few_packs) {
  const RunKey key = make_run("r1");
  for (int i = 0; i < 300; ++i) {
    put(key, static_cast<std::uint64_t>(i), {row(i, i)});
  }
  EXPECT_EQ(texts(key).size(), 300U);
  EXPECT_EQ(texts(key, {.from = 299}).at(0), R"({"_step":299,"loss":299})");
  std::int64_t packs = 0;
  ASSERT_TRUE(Tables(*store_).read([&](Database& database) -> Result<void> {
    packs = KEDGE_TRY(database.query_integer("SELECT count(*) FROM history_rows", {}));
    return {};
  }));
  EXPECT_LE(packs, 10);
}

TEST_P(TranscriptTest, events_are_system_metrics_and_never_replaced) {
  const RunKey key = make_run("r1");
  const RowBatch batch{.stream = RowStream::Events,
                       .from = 0,
                       .rows = {{.text = "{}", .time_us = kNow, .values = {{"cpu", 12}}}}};
  ASSERT_TRUE(transcript().put_rows(key, batch, kNow));
  const auto metrics = store_->list_metrics(key);
  ASSERT_EQ(metrics->size(), 1U);
  EXPECT_EQ(metrics->at(0).kind, MetricKind::System);
  ASSERT_TRUE(transcript().clear(key));
  EXPECT_EQ(transcript().count_rows(key, RowStream::Events), 0U);
}

TEST_P(TranscriptTest, console_lines_are_written_again_by_their_number) {
  const RunKey key = make_run("r1");
  const auto put_lines = [&](std::uint64_t from, std::vector<ConsoleLine> lines) {
    const auto done = transcript().put_console(key, from, lines, kNow);
    EXPECT_TRUE(done) << done.error().message;
  };
  put_lines(0, {{.text = "start"}, {.text = " 10%"}});
  put_lines(1, {{.text = "100%"}, {.text = "oh", .is_error = true}});
  put_lines(4, {{.text = "end"}});
  EXPECT_THAT(console(key), ElementsAre("start", "100%", "!oh", "", "end"));
  put_lines(0, {{.text = "begin"}});
  reopen();
  EXPECT_THAT(console(key), ElementsAre("begin", "100%", "!oh", "", "end"));
  EXPECT_FALSE(transcript().put_console(key, 1ULL << 60U, {{.text = "x"}}, kNow));
  ASSERT_TRUE(transcript().clear(key));
  put_lines(0, {{.text = "again"}});
  EXPECT_THAT(console(key), ElementsAre("again"));
}

TEST_P(TranscriptTest, documents_are_replaced_and_go_with_the_run) {
  const RunKey key = make_run("r1");
  EXPECT_EQ(*transcript().find_document(key, "wandb.config"), std::nullopt);
  ASSERT_TRUE(transcript().put_document(key, "wandb.config", "{}"));
  ASSERT_TRUE(transcript().put_document(key, "wandb.config", R"({"a":null})"));
  EXPECT_EQ(**transcript().find_document(key, "wandb.config"), R"({"a":null})");
  ASSERT_TRUE(store_->delete_run(key));
  make_run("r1");
  EXPECT_EQ(*transcript().find_document(key, "wandb.config"), std::nullopt);
}

TEST_P(TranscriptTest, an_alert_is_at_the_step_of_the_last_row_before_it) {
  const RunKey key = make_run("r1");
  const auto alert_at = [&](const char* title, std::int64_t time_us) {
    ASSERT_TRUE(store_->add_records(
        key, {{.type = "alert", .key = title, .step = -1, .time_us = time_us, .body = {}}}, kNow));
  };
  alert_at("early", kNow - 1);
  alert_at("late", kNow + 12);
  put(key, 0, {row(0, 1), row(10, 2), row(20, 3)});  // row N is at kNow + N
  const auto steps = [&] {
    std::vector<std::int64_t> found;
    for (const Record& record : store_->read_records(key, {.type = "alert"})->records) {
      found.push_back(record.step);
    }
    return found;
  };
  EXPECT_THAT(steps(), ElementsAre(-1, 10));
  put(key, 3, {row(30, 4)});
  EXPECT_THAT(steps(), ElementsAre(-1, 10));
}

TEST_P(TranscriptTest, an_attempt_that_nobody_ended_is_in_the_state_of_its_run) {
  const RunKey key = make_run("r1");
  ASSERT_TRUE(store_->put_attempts(key, {Attempt{.number = 1, .host = "h", .started_us = kNow}}));
  put(key, 0, {row(0, 1), row(1, 2)});
  ASSERT_TRUE(store_->patch_run(key, {.state = RunState::Failed}, kNow + 5));
  ASSERT_EQ(store_->list_attempts(key)->size(), 1U);
  EXPECT_EQ(store_->list_attempts(key)->at(0).state, "failed");
  EXPECT_EQ(store_->list_attempts(key)->at(0).ended_us, kNow + 5);
  ASSERT_TRUE(transcript().rewind(key, 0, kNow + 6));
  ASSERT_TRUE(store_->patch_run(key, {.state = RunState::Finished}, kNow + 9));
  const auto attempts = store_->list_attempts(key);
  ASSERT_EQ(attempts->size(), 2U);
  EXPECT_EQ(attempts->at(0).state, "failed") << "how it ended is still known";
  EXPECT_EQ(attempts->at(1).state, "finished");
}

TEST_P(TranscriptTest, a_change_is_there_wholly_or_not_at_all) {
  const RunKey key = make_run("r");
  const auto work = [&](bool is_good) {
    return transcript().change(key, kNow, [&](TranscriptChange& change) -> Result<void> {
      KEDGE_TRY(change.put_rows({.rows = {row(1, 0.5), row(2, 0.25)}}));
      KEDGE_TRY(change.put_document("wandb.summary", "{}"));
      KEDGE_TRY(change.edit([](const store::Run& run) -> Result<RunPatch> {
        EXPECT_EQ(run.summary["loss"]["last"], 0.25);  // what the change itself has brought
        return RunPatch{.notes = "edited"};
      }));
      return change.put_console(is_good ? 0 : 1ULL << 60U, {{.text = "line"}});
    });
  };
  EXPECT_FALSE(work(false));
  EXPECT_THAT(texts(key), IsEmpty());
  EXPECT_THAT(values_of(key, "loss"), IsEmpty());
  EXPECT_EQ(*transcript().find_document(key, "wandb.summary"), std::nullopt);
  EXPECT_EQ(store_->find_facts(key)->notes, "");
  EXPECT_TRUE(work(true));
  reopen();
  EXPECT_THAT(values_of(key, "loss"), ElementsAre(0.5, 0.25));
  EXPECT_THAT(console(key), ElementsAre("line"));
  EXPECT_EQ(store_->find_facts(key)->notes, "edited");
}

}  // namespace
}  // namespace kedge::store
