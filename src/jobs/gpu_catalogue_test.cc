#include "jobs/gpu_catalogue.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

namespace kedge::jobs {
namespace {

std::vector<std::string> names(const std::vector<GpuModel>& models) {
  std::vector<std::string> result;
  for (const GpuModel& model : models) {
    result.emplace_back(model.name);
  }
  return result;
}

bool has(const std::vector<GpuModel>& models, std::string_view name) {
  return std::ranges::find(models, name, &GpuModel::name) != models.end();
}

// The OSPool's own table: GTX 1080 Ti 6.1, V100 7.0, RTX 2080 Ti 7.5, Quadro RTX 6000 7.5,
// A100 8.0, A40 8.6, RTX 3090 8.6.
TEST(GpuCatalogue, agrees_with_the_table_of_the_ospool) {
  const std::vector<std::pair<std::string, std::string>> published = {
      {"GTX 1080 Ti", "6.1"},     {"V100-SXM2-16GB", "7.0"}, {"RTX 2080 Ti", "7.5"},
      {"Quadro RTX 6000", "7.5"}, {"A100-SXM4-40GB", "8.0"}, {"A40", "8.6"},
      {"RTX 3090", "8.6"}};
  for (const auto& [name, capability] : published) {
    const auto found = gpus_named(name);
    ASSERT_FALSE(found.empty()) << name;
    for (const GpuModel& model : found) {
      EXPECT_EQ(render_capability(model.capability), capability) << model.name;
    }
  }
}

TEST(GpuCatalogue, is_sorted_by_capability_then_memory) {
  EXPECT_TRUE(std::ranges::is_sorted(gpu_catalogue(), {}, [](const GpuModel& model) {
    return std::tuple(model.capability, model.memory_gb);
  }));
}

TEST(GpuCatalogue, capability_says_nothing_about_memory) {
  const auto fit =
      gpus_that_fit({.least_capability = Capability{8, 0}, .memory = {40'000'000'000}});
  EXPECT_TRUE(has(fit, "A100-SXM4-40GB"));
  EXPECT_TRUE(has(fit, "A40"));
  EXPECT_FALSE(has(fit, "Quadro RTX 8000")) << "48 GB, but 7.5";
  EXPECT_FALSE(has(fit, "GeForce RTX 3090")) << "8.6, but 24 GB";
}

TEST(GpuCatalogue, a_most_capability_excludes_what_is_newer) {
  const auto fit = gpus_that_fit({.most_capability = Capability{6, 1}, .memory = {20'000'000'000}});
  EXPECT_EQ(names(fit), std::vector<std::string>{"Tesla P40"});
}

// What nvidia-smi shows for these cards: T4 15,110 MiB, A40 45,634 MiB, A100-40GB 40,536 MiB.
TEST(GpuCatalogue, a_need_written_as_cards_are_sold_matches_what_their_drivers_report) {
  EXPECT_LE(least_reported_mib({16'000'000'000}), 15110);
  EXPECT_LE(least_reported_mib({48'000'000'000}), 45634);
  EXPECT_LE(least_reported_mib({40'000'000'000}), 40536);
  EXPECT_GT(least_reported_mib({16'000'000'000}), 12 * 1024) << "a 12 GB card is too small";
}

TEST(GpuCatalogue, capabilities_compare_as_versions) {
  EXPECT_LT(*parse_capability("8.6"), *parse_capability("12.0"));
  EXPECT_EQ(*parse_capability("9"), (Capability{9, 0}));
  for (const char* bad : {"", "8.", ".5", "8.10", "a100", "-7.5", "8.0 "}) {
    EXPECT_FALSE(parse_capability(bad)) << bad;
  }
}

}  // namespace
}  // namespace kedge::jobs
