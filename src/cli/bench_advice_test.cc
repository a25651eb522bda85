#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/bench.h"

namespace kedge::cli {
namespace {

// A training that takes 1000 samples/s and whose loader gives 1300: neither too few nor many.
BenchReport report_with(double again_per_s, double bf16_per_s, double batch_per_s) {
  BenchReport report;
  report.device = "CPU";
  report.loader = {
      .samples = 100, .speeds = {{.workers = 0, .samples_per_s = 1300}}, .storage = {}};
  report.ways = {{.label = "as configured", .keys = {}, .samples_per_s = 1000},
                 {.label = "bf16", .keys = {"train.precision=bf16"}, .samples_per_s = bf16_per_s},
                 {.label = "as configured, again", .keys = {}, .samples_per_s = again_per_s}};
  report.batches = {{.label = "batch 64",
                     .keys = {"loader.batch_size=64"},
                     .batch_size = 64,
                     .samples_per_s = batch_per_s}};
  return report;
}

TEST(BenchAdvice, a_gain_above_the_noise_is_advised) {
  const auto advice = advise(report_with(1000, 2000, 500));
  ASSERT_EQ(advice.size(), 1U);
  EXPECT_EQ(advice.front(), "train.precision=bf16 is 2.0 times as fast");
}

TEST(BenchAdvice, a_gain_below_the_noise_is_told_as_such) {
  // 500 and 1000 for the same config: the noise is 2.
  const auto advice = advise(report_with(500, 1500, 500));
  ASSERT_EQ(advice.size(), 1U);
  EXPECT_EQ(advice.front(),
            "train.precision=bf16 may be 1.5 times as fast, which is less than the noise: measure "
            "again when the machine is idle");
}

TEST(BenchAdvice, a_config_that_nothing_beats_is_to_be_kept) {
  EXPECT_EQ(advise(report_with(1000, 900, 500)),
            std::vector<std::string>{"keep the config: nothing that was measured is faster"});
}

TEST(BenchAdvice, noise_and_advice_are_both_told) {
  const BenchReport report = report_with(500, 900, 500);
  const std::string text = render_text(report);
  EXPECT_NE(text.find("\nnoise    the same config measured twice differs by a factor of 2.0"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("\nadvice   "), std::string::npos) << text;
  const auto json = nlohmann::json::parse(render_json(report));
  EXPECT_EQ(json.value("noise", 0.0), 2.0);
  EXPECT_EQ(json["advice"].size(), 1U);
}

}  // namespace
}  // namespace kedge::cli
