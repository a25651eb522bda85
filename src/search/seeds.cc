#include "search/seeds.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/result.h"
#include "search/internal/probability.h"
#include "search/propose.h"
#include "search/space.h"
#include "search/sweep_plan.h"
#include "search/trial.h"

namespace kedge::search {
namespace {

constexpr double kAlpha = 0.05;
constexpr double kPower = 0.8;
constexpr std::int64_t kMoreMax = 1000;

struct SampleMoments {
  double mean = 0;
  double variance = 0;  // of the sample
  double n = 0;
};

SampleMoments sample_moments_of(std::span<const double> values) {
  SampleMoments moments;
  moments.n = static_cast<double>(values.size());
  for (const double value : values) {
    moments.mean += value / moments.n;
  }
  for (const double value : values) {
    moments.variance += (value - moments.mean) * (value - moments.mean) / (moments.n - 1);
  }
  return moments;
}

struct Test {
  Estimate difference;
  double p = 1;
  double error = 0;    // of the difference
  double degrees = 0;  // of freedom
};

Test test_of(double difference, double error, double degrees) {
  Test test{{difference, 0, 0}, 1, error, degrees};
  const double reach = student_t_quantile(1 - kAlpha / 2, degrees) * error;
  test.difference.low = difference - reach;
  test.difference.high = difference + reach;
  test.p = error > 0         ? 2 * (1 - student_t_cdf(std::abs(difference) / error, degrees))
           : difference == 0 ? 1
                             : 0;
  return test;
}

// Welch's, for settings with seeds of their own.
Test test_apart(const SampleMoments& a, const SampleMoments& b) {
  const double va = a.variance / a.n;
  const double vb = b.variance / b.n;
  const double degrees = va + vb > 0
                             ? (va + vb) * (va + vb) / (va * va / (a.n - 1) + vb * vb / (b.n - 1))
                             : a.n + b.n - 2;
  return test_of(a.mean - b.mean, std::sqrt(va + vb), degrees);
}

std::vector<double> results_of(const Setting& setting) {
  std::vector<double> values;
  for (const auto& [seed, value] : setting.results) {
    values.push_back(value);
  }
  return values;
}

std::vector<double> paired_differences(const Setting& a, const Setting& b) {
  const std::map<std::string, double> others(b.results.begin(), b.results.end());
  std::vector<double> differences;
  for (const auto& [seed, value] : a.results) {
    if (const auto other = others.find(seed); other != others.end()) {
      differences.push_back(value - other->second);
    }
  }
  return differences;
}

// The smallest number of seeds at which a difference of this size, with errors of this size at n
// seeds, is found with the wished chance: (t_alpha + t_power)^2 (error sqrt(n) / difference)^2.
std::optional<std::int64_t> find_more(const Test& test, double n) {
  const double single = test.error * std::sqrt(n);
  if (test.difference.value == 0) {
    return std::nullopt;
  }
  for (std::int64_t more = 1; more <= kMoreMax; ++more) {
    const double total = n + static_cast<double>(more);
    const double degrees = test.degrees * (total - 1) / std::max(n - 1, 1.0);
    const double reach =
        student_t_quantile(1 - kAlpha / 2, degrees) + student_t_quantile(kPower, degrees);
    if (std::abs(test.difference.value) >= reach * single / std::sqrt(total)) {
      return more;
    }
  }
  return std::nullopt;
}

std::vector<Setting> group(const Metric& metric, std::span<const Trial> trials,
                           const std::string& seed_key) {
  std::map<std::string, Setting> groups;
  for (const Trial& trial : trials) {
    if (trial.state != TrialState::Finished || !trial.metric || !std::isfinite(*trial.metric)) {
      continue;
    }
    nlohmann::json flat = flatten(trial.values);
    const auto seed = flat.find(seed_key);
    if (seed == flat.end()) {
      continue;
    }
    const std::string name = seed->dump();
    flat.erase(seed_key);
    Setting& setting = groups[identity_of(flat)];
    setting.values = flat;
    setting.results.emplace_back(name, *trial.metric);
  }
  std::vector<Setting> settings;
  for (auto& [identity, setting] : groups) {
    std::ranges::sort(setting.results);
    const auto values = results_of(setting);
    setting.mean = mean_interval(values);
    setting.deviation = values.size() > 1 ? std::sqrt(sample_moments_of(values).variance) : 0;
    settings.push_back(std::move(setting));
  }
  std::ranges::stable_sort(settings, [&](const Setting& a, const Setting& b) {
    return metric.is_better(a.mean.value, b.mean.value);
  });
  return settings;
}

}  // namespace

Estimate mean_interval(std::span<const double> values) {
  const SampleMoments moments = sample_moments_of(values);
  if (values.size() < 2) {
    const double infinity = std::numeric_limits<double>::infinity();
    return {moments.mean, -infinity, infinity};
  }
  const double reach =
      student_t_quantile(1 - kAlpha / 2, moments.n - 1) * std::sqrt(moments.variance / moments.n);
  return {moments.mean, moments.mean - reach, moments.mean + reach};
}

std::vector<double> correct_holm(const std::vector<double>& p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return p[i]; });
  std::vector<double> corrected(p.size());
  double largest = 0;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const double scaled = std::min(1.0, p[order[rank]] * static_cast<double>(p.size() - rank));
    largest = std::max(largest, scaled);
    corrected[order[rank]] = largest;
  }
  return corrected;
}

Result<SeedReport> compare_seeds(const Metric& metric, std::span<const Trial> trials,
                                 const std::string& seed_key) {
  SeedReport report;
  report.settings = group(metric, trials, seed_key);
  if (report.settings.empty()) {
    return fail(ErrorKind::NotFound, fmt::format("no finished trial has a value of '{}'", seed_key),
                "name the seed among the swept parameters");
  }
  std::vector<Test> tests;
  std::vector<double> p;
  for (std::size_t i = 1; i < report.settings.size(); ++i) {
    const Setting& best = report.settings[0];
    const Setting& other = report.settings[i];
    const auto pairs = paired_differences(best, other);
    const bool is_paired = pairs.size() >= 2;
    if (!is_paired && (best.results.size() < 2 || other.results.size() < 2)) {
      continue;
    }
    const SampleMoments apart = sample_moments_of(pairs);
    tests.push_back(is_paired
                        ? test_of(apart.mean, std::sqrt(apart.variance / apart.n), apart.n - 1)
                        : test_apart(sample_moments_of(results_of(best)),
                                     sample_moments_of(results_of(other))));
    p.push_back(tests.back().p);
    report.comparisons.push_back(
        {.better = 0, .worse = i, .is_paired = is_paired, .difference = tests.back().difference});
  }
  const auto corrected = correct_holm(p);
  for (std::size_t i = 0; i < report.comparisons.size(); ++i) {
    Comparison& comparison = report.comparisons[i];
    comparison.p = corrected[i];
    comparison.is_settled = corrected[i] < kAlpha;
    if (!comparison.is_settled) {
      const auto n = static_cast<double>(report.settings[comparison.worse].results.size());
      comparison.more_seeds = find_more(tests[i], n);
    }
  }
  return report;
}

}  // namespace kedge::search
