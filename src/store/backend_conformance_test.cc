// What a store promises, on each of its databases.
#include <cmath>
#include <cstdint>
#include <future>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/result.h"
#include "store/internal/tables.h"
#include "store/store.h"
#include "store/test_backend.h"

namespace kedge::store {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

KEDGE_EACH_BACKEND(BackendTest);

TEST_P(BackendTest, a_run_is_created_changed_found_again_and_deleted) {
  RunPatch patch{.name = "steady-lantern", .user = "ann", .tags = {{"paper", "x"}}};
  patch.config = {{"optimizer", {{"lr", 0.1}, {"name", "adam"}}}, {"seed", 7}};
  const RunKey key = make_run("r1", patch);
  EXPECT_FALSE(store_->create_run(key, {}, kNow)->is_created);
  RunPatch change{.notes = "better", .tags = {{"paper"}}};
  change.config = {{"optimizer", {{"lr", 0.2}, {"name", nullptr}}}};
  change.summary = {{"best", 0.5}, {"verdict", "good"}};
  ASSERT_TRUE(store_->patch_run(key, change, kNow));
  reopen();
  const auto run = store_->find_run(key);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->facts.name, "steady-lantern");
  EXPECT_EQ(run->facts.user, "ann");
  EXPECT_EQ(run->facts.notes, "better");
  EXPECT_THAT(run->facts.tags, ElementsAre("paper"));
  EXPECT_EQ(run->config, (json{{"optimizer", {{"lr", 0.2}}}, {"seed", 7}}));
  EXPECT_EQ(run->summary["verdict"]["last"], "good");
  ASSERT_TRUE(store_->delete_run(key));
  EXPECT_EQ(store_->find_run(key).error().kind, ErrorKind::NotFound);
  EXPECT_EQ(store_->patch_run(key, change, kNow).error().kind, ErrorKind::NotFound);
  EXPECT_TRUE(store_->create_run(key, {}, kNow)->is_created);
  EXPECT_EQ(store_->find_run(key)->config, json::object());
}

TEST_P(BackendTest, only_what_has_been_in_the_trash_for_long_is_emptied_out) {
  const RunKey old = make_run("old", {.deleted_us = kNow - 10});
  const RunKey recent = make_run("recent", {.deleted_us = kNow + 10});
  const RunKey shown = make_run("shown");
  EXPECT_TRUE(*store_->delete_trashed_run(old, kNow));
  EXPECT_FALSE(*store_->delete_trashed_run(recent, kNow));
  EXPECT_FALSE(*store_->delete_trashed_run(shown, kNow)) << "restored a moment ago, say";
  reopen();
  EXPECT_EQ(store_->find_run(old).error().kind, ErrorKind::NotFound);
  EXPECT_TRUE(store_->find_run(recent));
  EXPECT_TRUE(store_->find_run(shown));
}

TEST_P(BackendTest, a_search_as_text_says_what_the_documents_say) {
  RunPatch patch{.name = "say \"hi\"\n\xC3\xA4", .notes = "x", .tags = {{"paper", "b"}}};
  patch.config = {{"optimizer", {{"lr", 0.1}, {"name", "adam"}}}, {"list", {1, "two"}}};
  patch.summary = {{"best", 0.5}, {"verdict", "good"}, {"a", 9}};
  patch.labels = {{"team", "vision"}};
  const RunKey key = make_run("r1", patch);
  make_run("r2");
  ASSERT_TRUE(
      store_->log(key, {{"a", 1, 1.0}, {"b", 2, std::nan("")}, {"c", 3, -kInfinity}}, kNow));
  for (const auto& fields :
       {std::optional<std::vector<std::string>>(),
        std::optional(std::vector<std::string>{"config.optimizer.lr", "config.list", "summary.a",
                                               "summary.c", "summary.verdict", "label.team"})}) {
    const Search search{.order = {"id"}, .fields = fields};
    const auto text = store_->search_text(search, kNow);
    ASSERT_TRUE(text) << text.error().message;
    const auto found = store_->search(search, kNow);
    json documents = json::array();
    for (const store::Run& run : found->runs) {
      documents.push_back(render_run(run));
    }
    EXPECT_EQ(json::parse(text->runs), documents);
    EXPECT_EQ(text->total, 2U);
  }
}

TEST_P(BackendTest, an_edit_sees_a_summary_in_the_form_that_everybody_sees) {
  RunPatch patch;
  patch.summary = {{"verdict", "good"}};
  const RunKey key = make_run("r1", patch);
  ASSERT_TRUE(store_->log(key, {{"loss", 1, 2.0}, {"loss", 2, 1.0}}, kNow));
  json seen;
  const auto edited = store_->edit_run(
      key,
      [&](const store::Run& run) -> Result<RunPatch> {
        seen = run.summary;
        return RunPatch{.notes = "seen"};
      },
      kNow);
  ASSERT_TRUE(edited);
  EXPECT_EQ(seen, edited->summary);
  EXPECT_EQ(seen["loss"]["max"], 2.0);
  EXPECT_EQ(seen["verdict"], (json{{"last", "good"}}));
}

TEST_P(BackendTest, running_runs_are_whole_after_a_start_that_has_not_touched_them) {
  const RunKey key = make_run("r1");
  const RunKey other = make_run("r2");
  ASSERT_TRUE(store_->log(key, {{"loss", 1, 3.0}, {"loss", 2, 1.0}}, kNow));
  ASSERT_TRUE(
      store_->log(key, {{.key = "cpu", .step = 1, .value = 5, .kind = MetricKind::System}}, kNow));
  ASSERT_TRUE(store_->log(other, {{"loss", 1, 7.0}}, kNow + 5 * kSecond));
  reopen();
  EXPECT_EQ(store_->find_run(key)->summary["loss"]["min"], 1.0);  // from memory
  EXPECT_EQ(store_->find_facts(key)->last_step, 2);
  EXPECT_EQ(store_->find_facts(other)->heartbeat_us, kNow + 5 * kSecond);
  EXPECT_THAT(find_ids({.filter = "loss > 5"}), ElementsAre("r2"));
  EXPECT_THAT(values_of(key, "loss"), ElementsAre(3.0, 1.0));  // from the journal
  EXPECT_THAT(*store_->list_metrics(other), SizeIs(1));
  reopen();
  ASSERT_TRUE(store_->log(key, {{"loss", 3, 0.5}}, kNow));
  EXPECT_THAT(values_of(key, "loss"), ElementsAre(3.0, 1.0, 0.5));
  ASSERT_TRUE(store_->delete_run(other));
  reopen();
  EXPECT_EQ(store_->find_run(key)->summary["loss"]["count"], 3);
  EXPECT_FALSE(store_->find_run(other));
}

TEST_P(BackendTest, secrets_in_configs_and_consoles_are_not_kept) {
  const RunKey key = make_run("r", {.config = {{"lr", 0.1}, {"api_key", "abc123"}}});
  ASSERT_TRUE(store_->add_console(key, {{.text = "export HF_TOKEN=0123456789abcdefXYZ"}}, kNow));
  EXPECT_EQ(store_->find_run(key)->config, (json{{"lr", 0.1}, {"api_key", "<redacted>"}}));
  EXPECT_EQ(store_->read_console(key, 0, 10)->lines[0].text, "export HF_TOKEN=<redacted>");
}

TEST_P(BackendTest, names_that_cannot_be_addresses_are_refused) {
  for (const std::string project : {"", ".", "..", "a\nb", "\xff"}) {
    EXPECT_EQ(store_->create_run({project, "x"}, {}, kNow).error().kind, ErrorKind::Usage);
  }
  EXPECT_EQ(store_->create_run({"a", ".."}, {}, kNow).error().kind, ErrorKind::Usage);
  EXPECT_EQ(store_->create_run({"a", "b/c"}, {}, kNow).error().kind, ErrorKind::Usage);
  const auto made_up = store_->create_run({"a", ""}, {}, kNow);
  ASSERT_TRUE(made_up);
  EXPECT_THAT(made_up->run.facts.id, testing::MatchesRegex("20261115-051337-[a-z0-9]{6}"));
}

TEST_P(BackendTest, runs_are_searched_by_config_and_metrics_ordered_and_paged) {
  for (int i = 0; i < 10; ++i) {
    RunPatch patch{.created_us = kNow + i};
    patch.config = {{"lr", i % 2 == 0 ? 0.1 : 0.01}};
    const RunKey key = make_run(fmt::format("r{}", i), patch);
    ASSERT_TRUE(store_->log(key, {{"val/acc", 1, 0.1 * i}}, kNow));
  }
  for (const bool is_reopened : {false, true}) {
    if (is_reopened) {
      reopen();
    }
    EXPECT_THAT(find_ids({.filter = "config.lr = 0.1 and val/acc > 0.3"}),
                ElementsAre("r8", "r6", "r4"));
    EXPECT_THAT(find_ids({.order = {"summary.val/acc"}, .limit = 2, .offset = 3}),
                ElementsAre("r3", "r4"));
    EXPECT_THAT(find_ids({.projects = {"other"}}), IsEmpty());
    const auto page = store_->search(
        {.limit = 1, .fields = {{"config.lr", "summary.val/acc", "summary.none"}}}, kNow);
    ASSERT_TRUE(page);
    EXPECT_EQ(page->total, 10U);
    EXPECT_EQ(page->runs.at(0).config, (json{{"lr", 0.01}}));
    EXPECT_EQ(page->runs.at(0).summary.size(), 1U);
    EXPECT_EQ(page->runs.at(0).summary["val/acc"]["count"], 1);
  }
  EXPECT_EQ(store_->search({.filter = "lr <"}, kNow).error().kind, ErrorKind::Usage);
  ASSERT_THAT(store_->list_projects(), SizeIs(2));  // the first is the default project
  EXPECT_EQ(store_->list_projects()[1].run_count, 10U);
  EXPECT_EQ(store_->list_projects()[1].running_count, 10U);
}

TEST_P(BackendTest, names_of_config_metrics_and_tags_are_counted_by_project) {
  for (int i = 0; i < 30; ++i) {
    RunPatch patch{.tags = {{"all", i == 0 ? "first" : "later"}}};
    patch.config = {{"optimizer", {{"lr", i % 2 == 0 ? 0.1 : 0.01}}}, {"seed", i}};
    if (i < 3) {
      patch.config["sizes"] = {1, 2};
    }
    const RunKey key = make_run(fmt::format("r{}", i), patch);
    ASSERT_TRUE(store_->log(key, {{"loss", 1, 0.5}}, kNow));
  }
  RunPatch by_hand;
  by_hand.summary = {{"loss", 0.1}, {"verdict", "good"}};
  ASSERT_TRUE(store_->patch_run({"mnist", "r7"}, by_hand, kNow));
  RunPatch labelled;
  labelled.labels = {{"mlflow.user", "ann"}};
  ASSERT_TRUE(store_->patch_run({"mnist", "r8"}, labelled, kNow));
  RunPatch in_the_trash{.tags = {{"thrown"}}, .deleted_us = kNow};
  make_run("gone", in_the_trash);
  RunPatch other;
  other.config = {{"elsewhere", 1}};
  ASSERT_TRUE(store_->create_run({"other", "x"}, other, kNow));
  reopen();
  const ProjectFields fields = store_->list_fields("mnist");
  const auto shown = [](const std::vector<FieldFacts>& list) {
    std::vector<std::string> texts;
    for (const FieldFacts& field : list) {
      texts.push_back(fmt::format("{} {} {} {}", field.name, field.run_count, field.value_count,
                                  json(field.values).dump()));
    }
    return texts;
  };
  EXPECT_EQ(fields.run_count, 30U);
  EXPECT_THAT(shown(fields.config), ElementsAre("optimizer.lr 30 2 [0.1,0.01]", "seed 30 30 []",
                                                "sizes 3 1 [\"[1,2]\"]"));
  EXPECT_THAT(shown(fields.metrics), ElementsAre("loss 30 0 []", "verdict 1 0 []"));
  EXPECT_THAT(shown(fields.tags), ElementsAre("all 30 0 []", "later 29 0 []", "first 1 0 []"));
  EXPECT_THAT(shown(fields.labels), ElementsAre("mlflow.user 1 0 []"));
  EXPECT_EQ(store_->list_fields("none").run_count, 0U);
}

TEST_P(BackendTest, a_hundred_thousand_metric_names_fit) {
  const RunKey key = make_run("r");
  std::vector<LogPoint> points;
  for (int i = 0; i < 100'000; ++i) {
    points.push_back({fmt::format("layer/{}/norm", i), 1, 1.0 * i});
  }
  ASSERT_TRUE(store_->log(key, std::move(points), kNow));
  reopen();
  EXPECT_THAT(*store_->list_metrics(key), SizeIs(100'000));
  EXPECT_THAT(values_of(key, "layer/77777/norm"), ElementsAre(77777));
  EXPECT_THAT(find_ids({.filter = "layer/99999/norm = 99999"}), ElementsAre("r"));
}

TEST_P(BackendTest, names_that_are_not_utf8_are_kept_as_far_as_they_are) {
  const RunKey key = make_run("r");
  const std::string name(
      "b\xff"
      "d\0name",
      8);
  ASSERT_TRUE(store_->log(key,
                          {{name, 1, 1},
                           {"gr\xc3\xb6\xc3\x9f"
                            "e",
                            1, 2}},
                          kNow));
  ASSERT_TRUE(store_->log(key, {{name, 2, 3}}, kNow));
  EXPECT_THAT(values_of(key, "b?d?name"), ElementsAre(1, 3));
  EXPECT_THAT(values_of(key,
                        "gr\xc3\xb6\xc3\x9f"
                        "e"),
              ElementsAre(2));
}

TEST_P(BackendTest, silent_runs_are_crashed_until_they_speak_again) {
  const RunKey quiet = make_run("quiet");
  const RunKey alive = make_run("alive");
  const RunKey done = make_run("done", {.state = RunState::Finished});
  const auto a_minute = [](const RunFacts&) { return std::optional(60 * kSecond); };
  ASSERT_TRUE(store_->heartbeat(alive, kNow + 50 * kSecond));
  EXPECT_THAT(*store_->mark_crashed(kNow + 59 * kSecond, a_minute), IsEmpty());
  EXPECT_THAT(*store_->mark_crashed(kNow + 61 * kSecond, a_minute), ElementsAre(quiet));
  EXPECT_EQ(store_->find_facts(quiet)->state, RunState::Crashed);
  EXPECT_EQ(store_->find_facts(quiet)->ended_us, kNow);
  EXPECT_EQ(store_->find_facts(alive)->state, RunState::Running);
  EXPECT_EQ(store_->find_facts(done)->state, RunState::Finished);
  ASSERT_TRUE(store_->log(quiet, {{"x", 1, 1}}, kNow + 70 * kSecond));
  EXPECT_EQ(store_->find_facts(quiet)->state, RunState::Running);
  EXPECT_EQ(store_->find_facts(quiet)->ended_us, 0);
  // While no server ran, nobody could speak.
  reopen(kNow + 1000 * kSecond);
  EXPECT_THAT(*store_->mark_crashed(kNow + 1059 * kSecond, a_minute), IsEmpty());
  EXPECT_THAT(*store_->mark_crashed(kNow + 1061 * kSecond, a_minute), SizeIs(2));
}

TEST_P(BackendTest, changes_are_told_after_the_commit) {
  std::vector<Change> heard;
  store_->set_listener([&](std::span<const Change> changes) {
    heard.insert(heard.end(), changes.begin(), changes.end());
  });
  const RunKey key = make_run("r");
  ASSERT_TRUE(store_->log(key, {{"x", 41, 1}}, kNow));
  ASSERT_TRUE(store_->heartbeat(key, kNow + 1));
  ASSERT_TRUE(store_->add_console(key, {{.time_us = kNow, .text = "hi"}}, kNow));
  ASSERT_TRUE(store_->delete_run(key));
  store_->set_listener({});
  std::vector<unsigned> whats;
  for (const Change& change : heard) {
    EXPECT_EQ(change.run, key);
    whats.push_back(change.what);
  }
  EXPECT_THAT(whats, ElementsAre(kChangedFacts, kChangedMetrics, kChangedConsole, kRunDeleted));
  EXPECT_EQ(heard.at(1).last_step, 41);
}

TEST_P(BackendTest, records_are_picked_by_type_key_and_step_the_newest_first_to_stay) {
  const RunKey key = make_run("r");
  std::vector<Record> records;
  for (int i = 0; i < 6; ++i) {
    records.push_back({"table", i % 2 == 0 ? "even" : "odd", i, kNow + i, 1, {{"i", i}}});
  }
  const std::string large(200'000, 'x');
  records.push_back({"html", "page", 9, kNow, 1, {{"html", large}}});
  ASSERT_TRUE(store_->add_records(key, std::move(records), kNow));
  const auto odd = store_->read_records(key, {.type = "table", .key = "odd", .limit = 2});
  ASSERT_TRUE(odd);
  ASSERT_THAT(odd->records, SizeIs(2));
  EXPECT_EQ(odd->records[0].body["i"], 3);
  EXPECT_EQ(odd->records[1].body["i"], 5);
  EXPECT_THAT(odd->keys, ElementsAre("even", "odd"));
  EXPECT_THAT(store_->read_records(key, {.from_step = 2, .to_step = 4})->records, SizeIs(3));
  EXPECT_EQ(store_->read_records(key, {.type = "html"})->records.at(0).body["html"], large);
}

TEST_P(BackendTest, console_lines_are_numbered_over_many_commits) {
  const RunKey key = make_run("r");
  for (int i = 0; i < 300; ++i) {
    ASSERT_TRUE(store_->add_console(
        key, {{.time_us = kNow + i, .text = fmt::format("line {} \xff", i)}}, kNow));
  }
  reopen();
  ASSERT_TRUE(store_->add_console(key, {{.time_us = kNow, .text = "last"}}, kNow));
  const auto page = store_->read_console(key, 198, 3);
  ASSERT_TRUE(page);
  EXPECT_EQ(page->total, 301U);
  ASSERT_THAT(page->lines, SizeIs(3));
  EXPECT_EQ(page->lines[1].n, 199U);
  EXPECT_EQ(page->lines[1].text, "line 199 \xff");
  EXPECT_EQ(page->lines[1].time_us, kNow + 199);
  EXPECT_EQ(store_->read_console(key, 300, 100)->lines.at(0).text, "last");
  EXPECT_THAT(store_->read_console(key, 999, 100)->lines, IsEmpty());
}

TEST_P(BackendTest, files_views_and_the_audit_trail_are_kept) {
  const RunKey key = make_run("r");
  ASSERT_TRUE(store_->bind_file(key, {"media/a.png", 10, "sha256:1"}));
  ASSERT_TRUE(store_->bind_file(key, {"media/a.png", 20, "sha256:2"}));
  ASSERT_TRUE(store_->put_view({"v1", "mine", "mnist", {{"x", 1}}}, kNow));
  ASSERT_TRUE(store_->put_view({"v1", "mine", "mnist", {{"x", 2}}}, kNow));
  ASSERT_TRUE(store_->add_audit({kNow, "ann", "run.delete", "mnist/x", {{"why", "old"}}}));
  ASSERT_TRUE(store_->add_audit({kNow + 1, "bob", "login", "", {}}));
  reopen();
  ASSERT_THAT(*store_->list_files(key), SizeIs(1));
  EXPECT_EQ((*store_->find_file(key, "media/a.png"))->digest, "sha256:2");
  EXPECT_FALSE(*store_->find_file(key, "media/b.png"));
  EXPECT_EQ(store_->list_views("mnist")->at(0).view["x"], 2);
  EXPECT_THAT(*store_->list_views("other"), IsEmpty());
  EXPECT_TRUE(*store_->delete_view("v1"));
  EXPECT_FALSE(*store_->delete_view("v1"));
  EXPECT_EQ(store_->list_audit(1)->at(0).who, "bob");
  EXPECT_EQ(store_->list_audit(9)->at(1).detail["why"], "old");
}

TEST_P(BackendTest, a_refused_change_leaves_the_others_of_its_commit) {
  const RunKey key = make_run("r");
  std::vector<std::future<Result<std::uint64_t>>> answers;
  for (int i = 0; i < 50; ++i) {
    auto promise = std::make_shared<std::promise<Result<std::uint64_t>>>();
    answers.push_back(promise->get_future());
    const RunKey target = i % 10 == 9 ? RunKey{"mnist", "none"} : key;
    store_->log(target, {{"x", i, 1.0 * i}}, kNow,
                [promise](Result<std::uint64_t> result) { promise->set_value(std::move(result)); });
  }
  int refused = 0;
  for (auto& answer : answers) {
    refused += answer.get() ? 0 : 1;
  }
  EXPECT_EQ(refused, 5);
  EXPECT_THAT(values_of(key, "x"), SizeIs(45));
  EXPECT_FALSE(
      Tables(*store_).change([](Database& database) { return database.run("NO SUCH SQL"); }));
  EXPECT_TRUE(store_->log(key, {{"x", 100, 1}}, kNow));
}

TEST_P(BackendTest, a_second_server_is_told_that_the_store_is_in_use) {
  const auto second = Store::open(address_, kNow);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("is in use by"));
}

}  // namespace
}  // namespace kedge::store
