#include "use/internal/sampling.h"

#include <cmath>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>

namespace kedge::use {
namespace {

using testing::ElementsAre;

// The probabilities of four tokens, and what has been drawn of them so many times.
constexpr int kDraws = 4000;
const std::vector<double> kChances = {0.5, 0.3, 0.15, 0.05};

at::Tensor scores_of(std::int64_t rows = 1) {
  return torch::tensor(kChances).log().unsqueeze(0).repeat({rows, 1});
}

std::vector<double> drawn(const Sampling& sampling, const at::Tensor& scores = scores_of()) {
  SamplingRows rows(1, 4, at::kCPU);
  rows.set(0, sampling, {});
  SamplingWork work;
  work.add(sampling);
  std::vector<double> shares(4, 0);
  for (int length = 0; length < kDraws; ++length) {
    const at::Tensor id = rows.choose(scores, torch::full({1}, length, at::kLong), work, 0, 1);
    shares[static_cast<std::size_t>(id.item<std::int64_t>())] += 1.0 / kDraws;
  }
  return shares;
}

// Within five standard deviations of the mean of so many draws.
void expect_shares(const std::vector<double>& shares, const std::vector<double>& expected) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double deviation = std::sqrt(expected[i] * (1 - expected[i]) / kDraws);
    EXPECT_NEAR(shares[i], expected[i], 5 * deviation + 1e-12) << i;
  }
}

// The first numbers of SplitMix64 for the seed 1234567, as its authors' program prints them.
TEST(Sampling, mixes_bits_as_splitmix64_does) {
  const auto golden = static_cast<std::int64_t>(0x9E3779B97F4A7C15U);
  const at::Tensor states = torch::arange(1, 4, at::kLong) * golden + 1234567;
  const at::Tensor mixed = mixed_bits(states);
  const auto number = [&](int i) {
    return static_cast<std::uint64_t>(mixed[i].item<std::int64_t>());
  };
  EXPECT_EQ(number(0), 6457827717110365317U);
  EXPECT_EQ(number(1), 3203168211198807973U);
  EXPECT_EQ(number(2), 9817491932198370423U);
}

TEST(Sampling, draws_tokens_as_often_as_they_are_likely) {
  expect_shares(drawn({.temperature = 1, .seed = 1}), kChances);
  // p^(1/T), normalised.
  const double sum = 0.25 + 0.09 + 0.0225 + 0.0025;
  expect_shares(drawn({.temperature = 0.5, .seed = 2}),
                {0.25 / sum, 0.09 / sum, 0.0225 / sum, 0.0025 / sum});
}

TEST(Sampling, leaves_out_what_the_filters_rule_out) {
  expect_shares(drawn({.temperature = 1, .top_k = 2}), {0.625, 0.375, 0, 0});
  expect_shares(drawn({.temperature = 1, .top_p = 0.6}), {0.625, 0.375, 0, 0});
  expect_shares(drawn({.temperature = 1, .top_p = 0.4}), {1, 0, 0, 0});
  expect_shares(drawn({.temperature = 1, .min_p = 0.29}), {0.5 / 0.95, 0.3 / 0.95, 0.15 / 0.95, 0});
  // Of the two that top_k leaves the first has 0.625 of all.
  expect_shares(drawn({.temperature = 1, .top_k = 2, .top_p = 0.6}), {1, 0, 0, 0});
}

TEST(Sampling, makes_tokens_that_were_there_less_likely) {
  SamplingRows rows(2, 4, at::kCPU);
  const Sampling sampling{.repetition_penalty = 2};
  rows.set(0, sampling, std::vector<std::int64_t>{0});
  rows.set(1, sampling, {});
  SamplingWork work;
  work.add(sampling);
  // Scores above 0 are divided, others multiplied: 3 -> 1.5.
  const at::Tensor scores = torch::tensor({{3.0, 2.0, -1.0, 0.0}, {3.0, 2.0, -1.0, 0.0}});
  const auto choose = [&] {
    const at::Tensor ids = rows.choose(scores, torch::zeros({2}, at::kLong), work, 0, 2);
    return std::vector<std::int64_t>{ids[0].item<std::int64_t>(), ids[1].item<std::int64_t>()};
  };
  EXPECT_THAT(choose(), ElementsAre(1, 0));
  rows.see(torch::tensor({{1}, {0}}), torch::tensor({1, 0}));
  EXPECT_THAT(choose(), ElementsAre(0, 0)) << "a row that rests sees nothing";
}

TEST(Sampling, a_row_is_drawn_by_its_own_settings_whoever_is_beside_it) {
  const std::int64_t vocab = 1000;
  torch::manual_seed(3);
  const at::Tensor scores = torch::randn({3, vocab}) * 3;
  const std::vector<Sampling> settings = {
      {.temperature = 0.9, .seed = 7}, {}, {.temperature = 1.2, .top_p = 0.9, .seed = 8}};
  SamplingRows together(3, vocab, at::kCPU);
  SamplingWork all;
  for (std::int64_t i = 0; i < 3; ++i) {
    together.set(i, settings[static_cast<std::size_t>(i)], {});
    all.add(settings[static_cast<std::size_t>(i)]);
  }
  std::set<std::int64_t> seen;
  for (std::int64_t length = 0; length < 50; ++length) {
    const at::Tensor lengths = torch::full({3}, length, at::kLong);
    const at::Tensor ids = together.choose(scores, lengths, all, 0, 3);
    for (std::int64_t i = 0; i < 3; ++i) {
      const Sampling& own = settings[static_cast<std::size_t>(i)];
      SamplingRows alone(1, vocab, at::kCPU);
      alone.set(0, own, {});
      SamplingWork work;
      work.add(own);
      const at::Tensor id =
          alone.choose(scores.narrow(0, i, 1), lengths.narrow(0, 0, 1), work, 0, 1);
      EXPECT_EQ(ids[i].item<std::int64_t>(), id[0].item<std::int64_t>()) << i;
    }
    seen.insert(ids[0].item<std::int64_t>());
  }
  EXPECT_GT(seen.size(), 10U);
}

}  // namespace
}  // namespace kedge::use
