// Texts of the wire and back: JSON with NaN, filters, configs, rows, ids, signed addresses.
#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/scratch_folder.h"
#include "store/store.h"
#include "wandb/internal/encoding.h"
#include "wandb/internal/history_row.h"
#include "wandb/internal/lenient_json.h"
#include "wandb/internal/links.h"
#include "wandb/internal/run_filter.h"
#include "wandb/internal/run_words.h"
#include "wandb/internal/stream.h"

namespace kedge::wandb {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t kNow = 1'794'719'617'000'000;

// --- JSON

TEST(LenientJson, bare_nan_and_infinities_are_numbers_and_texts_stay_texts) {
  const auto parsed =
      parse_lenient(R"({"a": NaN, "b": [Infinity, -Infinity], "c": "NaN \" Infinity", "d": 1e5})");
  ASSERT_TRUE(parsed);
  EXPECT_TRUE(std::isnan((*parsed)["a"].get<double>()));
  EXPECT_EQ((*parsed)["b"][1], -INFINITY);
  EXPECT_EQ((*parsed)["c"], "NaN \" Infinity");
  EXPECT_EQ(render_lenient(*parsed),
            R"({"a":NaN,"b":[Infinity,-Infinity],"c":"NaN \" Infinity","d":100000.0})");
  EXPECT_EQ(make_strict(*parsed)["b"], (json{"Infinity", "-Infinity"}));
  EXPECT_FALSE(parse_lenient("{\"a\": NaNs}"));
  EXPECT_FALSE(parse_lenient("{\"a\": \"NaN"));
}

// --- filters; the left sides are what wandb.Api() sends

std::string translated(const char* text) {
  const auto filter = translate_filter(json::parse(text));
  return filter ? *filter : "error: " + filter.error().message;
}

TEST(RunFilter, mongo_filters_become_kedges_own) {
  EXPECT_EQ(translated(R"({"state": "finished"})"), R"(state = "finished")");
  EXPECT_EQ(translated(R"({"state": "killed"})"), R"(state = "stopped")");
  EXPECT_EQ(translated(R"({"config.lr.value": {"$gt": 0.1, "$lte": 1}})"),
            "(config.`lr` > 0.1 and config.`lr` <= 1)");
  EXPECT_EQ(translated(R"({"config.net.value.depth": 2})"), "config.`net.depth` = 2");
  EXPECT_EQ(translated(R"({"$or": [{"summary_metrics.val/loss": {"$exists": true}},
                                   {"summary_metrics.loss.min": 1}]})"),
            "(exists summary.`val/loss` or summary.`loss`.min = 1)");
  EXPECT_EQ(translated(R"({"tags": {"$in": ["a", "b"]}, "name": {"$ne": "x"}})"),
            R"((not (id = "x") and (tag = "a" or tag = "b")))");
  EXPECT_EQ(translated(R"({"displayName": {"$regex": "^a\"b", "$options": "i"}})"),
            R"(name ~ "(?i)^a\"b")");
  EXPECT_EQ(translated(R"({"$and": [], "sweep": {"$nin": []}})"),
            "(exists id and not (not exists id))");
  EXPECT_EQ(translated(R"({"config.x": null})"), "(config.`x` = null or not exists config.`x`)");
}

TEST(RunFilter, what_is_not_known_is_named) {
  EXPECT_THAT(translated(R"({"config.lr": {"$near": 1}})"), HasSubstr("$near"));
  EXPECT_THAT(translated(R"({"colour": 1})"), HasSubstr("colour"));
  EXPECT_THAT(translated(R"({"$xor": []})"), HasSubstr("$xor"));
  std::string deep = "{\"state\": 1}";
  for (int i = 0; i < 100; ++i) {
    deep = "{\"$and\": [" + deep + "]}";
  }
  EXPECT_THAT(translated(deep.c_str()), HasSubstr("deep"));
}

TEST(RunFilter, orders) {
  EXPECT_THAT(*translate_order("-summary_metrics.acc,+created_at"),
              ElementsAre("-summary.`acc`", "created"));
  EXPECT_THAT(*translate_order(""), ElementsAre("created"));
  EXPECT_THAT(*translate_order("-config.lr.value"), ElementsAre("-config.`lr`"));
  EXPECT_FALSE(translate_order("-colour"));
}

// --- configs

TEST(RunWords, a_config_is_unwrapped_and_wrapped_as_it_was) {
  const json said = json::parse(R"({"lr": {"value": 0.1, "desc": "rate"}, "none": {"value": null},
                                    "net": {"value": {"depth": 2, "x": null}},
                                    "_wandb": {"value": {"t": {"1": [1]}}}})");
  EXPECT_EQ(unwrap_config(said),
            json::parse(R"({"lr": 0.1, "none": null, "net": {"depth": 2, "x": null}})"));
  // What the store keeps of it: nulls are left out.
  const json kept = json::parse(R"({"lr": 0.1, "net": {"depth": 2}})");
  EXPECT_EQ(wrap_config(kept, said), said);
  // Changed since by somebody else.
  const json changed = wrap_config(json::parse(R"({"lr": 0.2, "new": 1})"), said);
  EXPECT_EQ(changed["lr"], json::parse(R"({"value": 0.2})"));
  EXPECT_EQ(changed["new"]["value"], 1);
  EXPECT_EQ(changed["_wandb"], said["_wandb"]);
  EXPECT_FALSE(changed.contains("net"));
}

TEST(RunWords, a_patch_makes_one_config_of_another) {
  const json before = json::parse(R"({"a": 1, "b": {"x": 1, "y": 2}, "c": {"z": 1}})");
  const json after = json::parse(R"({"a": 1, "b": {"x": 3}, "c": 7, "d": [1]})");
  json patched = before;
  patched.merge_patch(make_patch(before, after));
  EXPECT_EQ(patched, after);
  EXPECT_TRUE(make_patch(after, after).empty());
}

TEST(RunWords, a_summary_sets_what_no_curve_says) {
  store::Run run;
  run.summary = json::parse(R"({"loss": {"last": 0.5, "count": 3}, "acc": {"last": 1, "count": 2},
                                "nan": {"last": "NaN", "count": 1}})");
  const json said = *parse_lenient(R"({"loss": 0.5, "acc": 2, "best": 9, "word": "w", "nan": NaN,
      "_step": 3, "val": {"min": 1}, "h": {"_type": "histogram"}})");
  EXPECT_EQ(make_summary_patch(run, said),
            json::parse(R"({"acc": 2, "best": 9, "word": "w", "val.min": 1})"));
}

// --- rows; lines as client 0.31.0 sends them

TEST(HistoryRow, numbers_are_curves_and_media_records) {
  const auto row = parse_history(
      R"({"loss":0.5,"in":{"a":1,"b":{"c":true}},"bad":NaN,"word":"x","_step":7,)"
      R"("_timestamp":1794719617.25,"_runtime":1.5,)"
      R"("h":{"_type":"histogram","values":[1,2],"packedBins":{"min":0.0,"size":0.5,"count":2}},)"
      R"("i":{"_type":"images/separated","filenames":["m/a.png","m/b.png"],"count":2}})",
      0, kNow);
  ASSERT_TRUE(row);
  EXPECT_EQ(row->step, 7);
  EXPECT_EQ(row->time_us, 1'794'719'617'250'000);
  ASSERT_EQ(row->values.size(), 4U);
  EXPECT_TRUE(std::isnan(row->values[0].second));
  EXPECT_EQ(row->values[1], (std::pair<std::string, double>("in.a", 1)));
  EXPECT_EQ(row->values[2], (std::pair<std::string, double>("in.b.c", 1)));
  ASSERT_EQ(row->records.size(), 3U);
  EXPECT_EQ(row->records[0].type, "histogram");
  EXPECT_EQ(row->records[0].body["edges"], (json{0.0, 0.5, 1.0}));
  EXPECT_EQ(row->records[2].key, "i/1");
  EXPECT_EQ(row->records[2].body["path"], "m/b.png");
  EXPECT_FALSE(parse_history("[1]", 0, kNow));
  EXPECT_FALSE(parse_history("{", 0, kNow));
  EXPECT_EQ(parse_history("{}", 4, kNow)->step, 4);
}

TEST(HistoryRow, events_are_named_without_their_prefix) {
  const auto row = parse_event(
      R"({"system.cpu":12.5,"system.gpu.0.gpu":90,"_wandb":true,"_runtime":3,"_timestamp":1e9})",
      kNow);
  ASSERT_TRUE(row);
  EXPECT_THAT(row->values, ElementsAre(std::pair<std::string, double>("cpu", 12.5),
                                       std::pair<std::string, double>("gpu.0.gpu", 90)));
}

TEST(Console, lines_in_both_forms) {
  const auto structured = parse_console_line(
      R"({"level":"error","ts":"2026-11-15T02:43:00.733139","content":"text"})", kNow);
  EXPECT_EQ(structured.text, "text");
  EXPECT_TRUE(structured.is_error);
  EXPECT_EQ(structured.time_us, 1'794'710'580'733'139);
  const auto plain = parse_console_line("ERROR 2026-11-15T02:43:00.5 oh no\n", kNow);
  EXPECT_EQ(plain.text, "oh no");
  EXPECT_TRUE(plain.is_error);
  EXPECT_EQ(plain.time_us, 1'794'710'580'500'000);
  EXPECT_EQ(parse_console_line("{not json", kNow).text, "{not json");
  EXPECT_EQ(parse_console_line("ERROR everywhere", kNow).text, "ERROR everywhere");
}

// --- names

TEST(Encoding, ids_and_digests) {
  // python3: base64.b64encode(b"Run:v1:abc:me:my project:2")
  EXPECT_EQ(render_id(RunId{{"my project:2", "abc"}, "me"}),
            "UnVuOnYxOmFiYzptZTpteSBwcm9qZWN0OjI=");
  const auto parsed = parse_run_id("UnVuOnYxOmFiYzptZTpteSBwcm9qZWN0OjI=");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->key, (store::RunKey{"my project:2", "abc"}));
  EXPECT_EQ(parsed->entity, "me");
  EXPECT_FALSE(parse_run_id("UnVuOnYx"));
  EXPECT_FALSE(parse_run_id("!!!!"));
  EXPECT_EQ(md5_of("hello"), "XUFAKrxLKna5cZ2REBfFkg==");
  // RFC 4231, test case 2.
  EXPECT_EQ(hmac_sha256_hex("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

TEST(Links, hold_for_a_while_and_only_as_they_were_made) {
  const ScratchFolder folder;
  const auto store = store::Store::open(folder.path().string(), kNow);
  ASSERT_TRUE(store);
  const auto links = Links::open(**store);
  ASSERT_TRUE(links);
  const std::string token = links->sign({{"put", "run"}, {"path", "a/b.txt"}}, kNow + 10);
  EXPECT_EQ((*links->parse(token, kNow))["path"], "a/b.txt");
  EXPECT_EQ((*Links::open(**store)->parse(token, kNow))["put"], "run");
  EXPECT_THAT(links->parse(token, kNow + 11).error().message, HasSubstr("over"));
  std::string other = token;
  other[5] = other[5] == 'A' ? 'B' : 'A';
  EXPECT_FALSE(links->parse(other, kNow));
  EXPECT_FALSE(links->parse("", kNow));
  EXPECT_FALSE(links->parse("a.b", kNow));
}

}  // namespace
}  // namespace kedge::wandb
