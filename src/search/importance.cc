#include "search/importance.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/random.h"
#include "core/result.h"
#include "search/internal/forest.h"
#include "search/internal/probability.h"
#include "search/internal/sobol.h"
#include "search/space.h"
#include "search/sweep_plan.h"
#include "search/trial.h"

namespace kedge::search {
namespace {

constexpr int kTrees = 64;
// Groups of trees, whose differences tell how sure the variance fractions are.
constexpr std::size_t kGroups = 8;
constexpr std::uint32_t kProbes = 512;
constexpr std::size_t kBins = 64;
constexpr double kNormal95 = 1.959963984540054;
constexpr int kBootstraps = 200;

double mean_of(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) {
    sum += value;
  }
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

// The ends are those of the middle 95% of the values.
Estimate spread_of(std::vector<double> values) {
  if (values.empty()) {
    return {};
  }
  Estimate estimate{mean_of(values), 0, 0};
  std::ranges::sort(values);
  const auto at = [&](double fraction) {
    return values[static_cast<std::size_t>(
        std::lround(fraction * static_cast<double>(values.size() - 1)))];
  };
  estimate.low = at(0.025);
  estimate.high = at(0.975);
  return estimate;
}

double pearson(std::span<const double> x, std::span<const double> y) {
  const double mean_x = mean_of(x);
  const double mean_y = mean_of(y);
  double xx = 0;
  double yy = 0;
  double xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    yy += (y[i] - mean_y) * (y[i] - mean_y);
    xy += (x[i] - mean_x) * (y[i] - mean_y);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
}

// Fisher's transform: atanh(r) is nearly a bell with variance 1 / (n - 3).
Estimate correlate(std::span<const double> x, std::span<const double> y) {
  const double r = std::clamp(pearson(x, y), -1.0, 1.0);
  const double width = kNormal95 / std::sqrt(std::max(static_cast<double>(x.size()) - 3, 1.0));
  const double z = std::atanh(std::clamp(r, -1 + 1e-12, 1 - 1e-12));
  return {r, std::tanh(z - width), std::tanh(z + width)};
}

// The root of the fraction of the variance that lies between the choices.
double correlation_ratio(std::span<const double> choice, std::span<const double> y,
                         std::uint64_t choices) {
  std::vector<double> sums(choices, 0.0);
  std::vector<double> counts(choices, 0.0);
  for (std::size_t i = 0; i < y.size(); ++i) {
    sums[static_cast<std::size_t>(choice[i])] += y[i];
    counts[static_cast<std::size_t>(choice[i])] += 1;
  }
  const double mean = mean_of(y);
  double between = 0;
  double total = 0;
  for (std::size_t i = 0; i < choices; ++i) {
    const double own = counts[i] > 0 ? sums[i] / counts[i] - mean : 0;
    between += counts[i] * own * own;
  }
  for (const double value : y) {
    total += (value - mean) * (value - mean);
  }
  return total > 0 ? std::sqrt(between / total) : 0;
}

Estimate correlate_choices(const std::vector<double>& choice, const std::vector<double>& y,
                           std::uint64_t choices) {
  Random random({y.size(), choices, 0xb007U});
  std::vector<double> ratios;
  for (int k = 0; k < kBootstraps; ++k) {
    std::vector<double> some_choice;
    std::vector<double> some_y;
    for (std::size_t i = 0; i < y.size(); ++i) {
      const std::uint64_t row = random.below(y.size());
      some_choice.push_back(choice[row]);
      some_y.push_back(y[row]);
    }
    ratios.push_back(correlation_ratio(some_choice, some_y, choices));
  }
  // Fewer different rows look more alike than they are, so that samples of samples lie above: their
  // spread counts, around what the trials themselves say.
  const double value = correlation_ratio(choice, y, choices);
  const Estimate spread = spread_of(std::move(ratios));
  return {value, std::max(value + spread.low - spread.value, 0.0),
          std::min(value + spread.high - spread.value, 1.0)};
}

// Choices that are numbers, as themselves; empty: some are something else.
std::vector<double> numbers_of(const Parameter& axis, const std::vector<double>& choice) {
  std::vector<double> numbers;
  for (const double index : choice) {
    const nlohmann::json& value = axis.values[static_cast<std::size_t>(index)];
    if (!value.is_number() && !value.is_boolean()) {
      return {};
    }
    numbers.push_back(value.is_boolean() ? static_cast<double>(value.get<bool>())
                                         : value.get<double>());
  }
  return numbers;
}

ForestData data_of(const SweepPlan& plan, std::span<const Trial> trials) {
  ForestData data;
  for (const Parameter& axis : plan.space.axes()) {
    data.choices.push_back(axis.is_categorical() ? *axis.count() : 0);
  }
  for (const Trial& trial : trials) {
    const bool has_result =
        trial.state == TrialState::Finished && trial.metric && std::isfinite(*trial.metric);
    auto point = has_result ? plan.space.locate(trial.values) : std::nullopt;
    if (!point) {
      continue;
    }
    for (std::size_t axis = 0; axis < point->size(); ++axis) {
      if (data.choices[axis] > 0) {
        (*point)[axis] = static_cast<double>(plan.space.axes()[axis].index_at((*point)[axis]));
      }
    }
    data.points.push_back(std::move(*point));
    data.values.push_back(*trial.metric);
  }
  return data;
}

// What the trees say, one number each per axis.
struct ForestFindings {
  std::vector<std::vector<double>> permutation;
  std::vector<double> variance;                     // fractions by axis, of the whole forest
  std::vector<std::vector<double>> group_variance;  // and of each group of trees
  double explained = 0;
};

double variance_of(const std::vector<double>& values) {
  const double mean = mean_of(values);
  double sum = 0;
  for (const double value : values) {
    sum += (value - mean) * (value - mean);
  }
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

// What some trees predict together: over the cube, and along each axis.
class TreeGroup {
 public:
  void add(const Tree& tree, const ForestData& data) {
    std::vector<double> predictions;
    predictions.reserve(kProbes);
    for (std::uint32_t i = 0; i < kProbes; ++i) {
      predictions.push_back(tree.predict(probe(data, i)));
    }
    add_to(predictions_, predictions);
    const auto marginals = tree.marginals(kBins);
    marginals_.resize(marginals.size());
    for (std::size_t axis = 0; axis < marginals.size(); ++axis) {
      add_to(marginals_[axis], marginals[axis]);
    }
  }

  void add(const TreeGroup& other) {
    add_to(predictions_, other.predictions_);
    marginals_.resize(other.marginals_.size());
    for (std::size_t axis = 0; axis < marginals_.size(); ++axis) {
      add_to(marginals_[axis], other.marginals_[axis]);
    }
  }

  // Sums of predictions instead of means: the ratio is the same.
  std::vector<double> fractions() const {
    const double total = variance_of(predictions_);
    std::vector<double> fractions;
    fractions.reserve(marginals_.size());
    for (const std::vector<double>& marginal : marginals_) {
      fractions.push_back(total > 0 ? std::min(variance_of(marginal) / total, 1.0) : 0);
    }
    return fractions;
  }

 private:
  static Point probe(const ForestData& data, std::uint32_t index) {
    Point point;
    Random random({index, 0x9e0beU});
    for (std::size_t axis = 0; axis < data.choices.size(); ++axis) {
      const double u =
          axis < sobol_dimensions() ? scrambled_sobol(index, axis, 1) : random.uniform();
      point.push_back(
          data.choices[axis] > 0 ? std::floor(u * static_cast<double>(data.choices[axis])) : u);
    }
    return point;
  }

  static void add_to(std::vector<double>& sums, const std::vector<double>& values) {
    sums.resize(values.size(), 0.0);
    for (std::size_t i = 0; i < values.size(); ++i) {
      sums[i] += values[i];
    }
  }

  std::vector<double> predictions_;
  std::vector<std::vector<double>> marginals_;
};

// Squared error on `rows`, with the values of one axis shuffled, or none where it is npos.
double error_of(const Tree& tree, const ForestData& data, const std::vector<std::size_t>& rows,
                std::size_t axis, Random& random) {
  double error = 0;
  std::vector<std::size_t> donors = rows;
  if (axis != std::string::npos) {
    for (std::size_t i = donors.size(); i > 1; --i) {
      std::swap(donors[i - 1], donors[random.below(i)]);
    }
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Point point = data.points[rows[i]];
    if (axis != std::string::npos) {
      point[axis] = data.points[donors[i]][axis];
    }
    const double miss = tree.predict(point) - data.values[rows[i]];
    error += miss * miss;
  }
  return error / static_cast<double>(rows.size());
}

ForestFindings ask_forest(const ForestData& data) {
  const std::size_t dimension = data.choices.size();
  const std::size_t n = data.points.size();
  ForestFindings findings{std::vector<std::vector<double>>(dimension), {}, {}};
  std::vector<TreeGroup> groups(kGroups);
  std::vector<double> seen_by_others(n, 0.0);
  std::vector<double> votes(n, 0.0);
  for (int k = 0; k < kTrees; ++k) {
    Random random({0xf07e57U, static_cast<std::uint64_t>(k), n});
    std::vector<std::size_t> rows;
    std::vector<bool> is_in(n, false);
    for (std::size_t i = 0; i < n; ++i) {
      rows.push_back(random.below(n));
      is_in[rows.back()] = true;
    }
    const Tree tree(data, rows);
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < n; ++i) {
      if (!is_in[i]) {
        out.push_back(i);
        seen_by_others[i] += tree.predict(data.points[i]);
        votes[i] += 1;
      }
    }
    groups[static_cast<std::size_t>(k) % kGroups].add(tree, data);
    const double plain = out.empty() ? 0 : error_of(tree, data, out, std::string::npos, random);
    for (std::size_t axis = 0; axis < dimension; ++axis) {
      if (!out.empty()) {
        findings.permutation[axis].push_back(error_of(tree, data, out, axis, random) - plain);
      }
    }
  }
  TreeGroup all;
  for (const TreeGroup& group : groups) {
    all.add(group);
  }
  findings.variance = all.fractions();
  for (const TreeGroup& group : groups) {
    findings.group_variance.push_back(group.fractions());
  }
  const double mean = mean_of(data.values);
  double missed = 0;
  double total = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (votes[i] > 0) {
      const double miss = seen_by_others[i] / votes[i] - data.values[i];
      missed += miss * miss;
      total += (data.values[i] - mean) * (data.values[i] - mean);
    }
  }
  findings.explained = total > 0 ? 1 - missed / total : 0;
  return findings;
}

// Student's interval from the groups' spread, around the whole forest's answer.
Estimate around(double value, const std::vector<double>& by_group) {
  const double error = std::sqrt(variance_of(by_group) / static_cast<double>(by_group.size() - 1));
  const double reach = student_t_quantile(0.975, static_cast<double>(by_group.size() - 1)) * error;
  return {value, std::max(value - reach, 0.0), std::min(value + reach, 1.0)};
}

// The mean over trees with the interval of a mean, in parts of `whole`.
Estimate fraction_of(const std::vector<double>& values, double whole) {
  const double mean = mean_of(values);
  double square = 0;
  for (const double value : values) {
    square += (value - mean) * (value - mean);
  }
  const auto n = static_cast<double>(values.size());
  const double error = n > 1 ? std::sqrt(square / (n - 1) / n) : 0;
  const double scale = whole > 0 ? 1 / whole : 0;
  // Below zero it is chance: no parameter makes a forest better by being shuffled.
  return {std::max(mean, 0.0) * scale, std::max(mean - kNormal95 * error, 0.0) * scale,
          std::max(mean + kNormal95 * error, 0.0) * scale};
}

}  // namespace

Space space_of(std::span<const Trial> trials) {
  std::map<std::string, std::vector<nlohmann::json>> columns;
  for (const Trial& trial : trials) {
    for (const auto& [key, value] : trial.values.items()) {
      columns[key].push_back(value);
    }
  }
  std::vector<Parameter> parameters;
  for (auto& [key, values] : columns) {
    if (values.size() < trials.size()) {
      continue;
    }
    Parameter parameter;
    parameter.keys = {key};
    std::ranges::sort(values);
    values.erase(std::ranges::unique(values).begin(), values.end());
    const bool is_number =
        std::ranges::all_of(values, [](const nlohmann::json& value) { return value.is_number(); });
    parameter.distribution = values.size() == 1 ? Distribution::Constant
                             : is_number        ? Distribution::Uniform
                                                : Distribution::Categorical;
    if (is_number) {
      parameter.min = values.front().get<double>();
      parameter.max = values.back().get<double>();
    }
    parameter.values = std::move(values);
    parameters.push_back(std::move(parameter));
  }
  return Space(std::move(parameters));
}

Result<ImportanceReport> find_importance(const SweepPlan& plan, std::span<const Trial> trials) {
  const ForestData data = data_of(plan, trials);
  constexpr std::size_t kTrialsMin = 4;
  if (data.choices.empty()) {
    return fail(ErrorKind::Usage, "no parameter of the sweep varies");
  }
  if (data.points.size() < kTrialsMin) {
    return fail(ErrorKind::Usage,
                fmt::format("importance needs at least {} finished trials with a result; there are "
                            "{}",
                            kTrialsMin, data.points.size()));
  }
  const ForestFindings findings = ask_forest(data);
  double whole = 0;
  for (const std::vector<double>& axis : findings.permutation) {
    whole += std::max(mean_of(axis), 0.0);
  }
  ImportanceReport report;
  report.trials = static_cast<std::int64_t>(data.points.size());
  report.explained = findings.explained;
  for (std::size_t axis = 0; axis < data.choices.size(); ++axis) {
    std::vector<double> column;
    column.reserve(data.points.size());
    for (const Point& point : data.points) {
      column.push_back(point[axis]);
    }
    const Parameter& parameter = plan.space.axes()[axis];
    Importance importance;
    importance.name = parameter.name();
    if (data.choices[axis] > 0) {
      const std::vector<double> numbers = numbers_of(parameter, column);
      importance.has_sign = !numbers.empty();
      importance.correlation = importance.has_sign
                                   ? correlate(numbers, data.values)
                                   : correlate_choices(column, data.values, data.choices[axis]);
    } else {
      importance.correlation = correlate(column, data.values);
    }
    importance.permutation = fraction_of(findings.permutation[axis], whole);
    std::vector<double> by_group;
    by_group.reserve(kGroups);
    for (const std::vector<double>& fractions : findings.group_variance) {
      by_group.push_back(fractions[axis]);
    }
    importance.variance_fraction = around(findings.variance[axis], by_group);
    report.parameters.push_back(std::move(importance));
  }
  std::ranges::stable_sort(report.parameters, [](const Importance& a, const Importance& b) {
    return a.variance_fraction.value > b.variance_fraction.value;
  });
  return report;
}

}  // namespace kedge::search
