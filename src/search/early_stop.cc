#include "search/early_stop.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "search/sweep_plan.h"
#include "search/trial.h"

namespace kedge::search {
namespace {

std::int64_t reports_of(const Trial& trial) {
  return static_cast<std::int64_t>(trial.curve.size());
}

double loss_or_worst(const Metric& metric, double value) {
  return std::isfinite(value) ? metric.loss_of(value) : std::numeric_limits<double>::infinity();
}

// The best of the first `reports` values, as a loss.
double best_loss(const Metric& metric, const Trial& trial, std::int64_t reports) {
  double best = std::numeric_limits<double>::infinity();
  for (std::int64_t i = 0; i < std::min(reports, reports_of(trial)); ++i) {
    best = std::min(best, loss_or_worst(metric, trial.curve[static_cast<std::size_t>(i)]));
  }
  return best;
}

double mean_loss(const Metric& metric, const Trial& trial, std::int64_t reports) {
  double sum = 0;
  for (std::int64_t i = 0; i < reports; ++i) {
    sum += loss_or_worst(metric, trial.curve[static_cast<std::size_t>(i)]);
  }
  return sum / static_cast<double>(reports);
}

struct Standing {
  std::int64_t count = 0;   // trials that have come to the bracket, this one included
  std::int64_t better = 0;  // of them, those strictly better
};

// Where a loss stands among all that have come to a bracket.
Standing find_standing(const SweepPlan& plan, std::span<const Trial> trials, std::int64_t bracket,
                       double loss) {
  Standing standing;
  for (const Trial& trial : trials) {
    if (reports_of(trial) >= bracket) {
      ++standing.count;
      standing.better += best_loss(plan.metric, trial, bracket) < loss ? 1 : 0;
    }
  }
  return standing;
}

std::string explain(const SweepPlan& plan, double loss, std::int64_t bracket,
                    const Standing& standing) {
  return fmt::format("{} {:.6g} after {} reports: {} of {} trials were better there",
                     plan.metric.name, plan.metric.loss_of(loss), bracket, standing.better,
                     standing.count);
}

std::optional<std::int64_t> last_bracket(const EarlyTerminate& rule, std::int64_t reports) {
  const auto brackets = find_brackets(rule, reports);
  return brackets.empty() ? std::nullopt : std::optional(brackets.back());
}

// W&B's rule: better than the value at place floor(n / eta) of the sorted ones, or equal to it.
Judgement judge_hyperband(const SweepPlan& plan, std::span<const Trial> trials,
                          const Trial& trial) {
  const EarlyTerminate& rule = plan.early_terminate;
  const auto bracket = last_bracket(rule, reports_of(trial));
  if (!bracket) {
    return {};
  }
  const double loss = best_loss(plan.metric, trial, rule.strict ? reports_of(trial) : *bracket);
  const Standing standing = find_standing(plan, trials, *bracket, loss);
  const auto allowed =
      static_cast<std::int64_t>(std::floor(static_cast<double>(standing.count) / rule.eta));
  if (standing.better <= allowed) {
    return {};
  }
  return {Verdict::Stop, explain(plan, loss, *bracket, standing)};
}

bool is_in_best_fraction(const Standing& standing, double eta) {
  const auto places =
      static_cast<std::int64_t>(std::floor(static_cast<double>(standing.count) / eta));
  return standing.better < places;
}

Judgement judge_asha(const SweepPlan& plan, std::span<const Trial> trials, const Trial& trial) {
  const EarlyTerminate& rule = plan.early_terminate;
  const auto bracket = last_bracket(rule, reports_of(trial));
  if (!bracket) {
    return {};
  }
  const double loss = best_loss(plan.metric, trial, *bracket);
  const Standing standing = find_standing(plan, trials, *bracket, loss);
  const bool is_young = static_cast<double>(standing.count) < rule.eta;
  if (is_in_best_fraction(standing, rule.eta) || (!rule.is_promoting && is_young)) {
    return {};
  }
  return {rule.is_promoting ? Verdict::Pause : Verdict::Stop,
          explain(plan, loss, *bracket, standing)};
}

// Vizier's rule: the best so far against the median of the others' averages up to here.
Judgement judge_median(const SweepPlan& plan, std::span<const Trial> trials, const Trial& trial) {
  const std::int64_t reports = reports_of(trial);
  if (reports < plan.early_terminate.min_iter) {
    return {};
  }
  std::vector<double> means;
  for (const Trial& other : trials) {
    if (&other != &trial && reports_of(other) >= reports) {
      means.push_back(mean_loss(plan.metric, other, reports));
    }
  }
  if (static_cast<std::int64_t>(means.size()) < plan.early_terminate.min_trials) {
    return {};
  }
  std::ranges::sort(means);
  const std::size_t middle = means.size() / 2;
  const double median =
      means.size() % 2 == 1 ? means[middle] : std::midpoint(means[middle - 1], means[middle]);
  const double best = best_loss(plan.metric, trial, reports);
  if (best <= median) {
    return {};
  }
  return {
      Verdict::Stop,
      fmt::format("{} {:.6g} after {} reports: the median of {} others is {:.6g}", plan.metric.name,
                  plan.metric.loss_of(best), reports, means.size(), plan.metric.loss_of(median))};
}

}  // namespace

std::vector<std::int64_t> find_brackets(const EarlyTerminate& rule, std::int64_t reports) {
  std::vector<std::int64_t> brackets;
  if (rule.min_iter > 0) {
    const double end =
        static_cast<double>(rule.max_iter > 0 ? std::min(rule.max_iter - 1, reports) : reports);
    for (auto at = static_cast<double>(rule.min_iter); at <= end; at *= rule.eta) {
      brackets.push_back(static_cast<std::int64_t>(at));
    }
    return brackets;
  }
  auto at = static_cast<double>(rule.max_iter);
  for (std::int64_t i = 0; i < rule.s; ++i) {
    at /= rule.eta;
    if (at < 1) {
      break;
    }
    if (static_cast<std::int64_t>(at) <= reports) {
      brackets.push_back(static_cast<std::int64_t>(at));
    }
  }
  std::ranges::reverse(brackets);
  return brackets;
}

Judgement judge(const SweepPlan& plan, std::span<const Trial> trials, std::size_t index) {
  const Trial& trial = trials[index];
  switch (plan.early_terminate.rule) {
    case Rule::Hyperband:
      return judge_hyperband(plan, trials, trial);
    case Rule::Asha:
      return judge_asha(plan, trials, trial);
    case Rule::Median:
      return judge_median(plan, trials, trial);
    case Rule::None:
      break;
  }
  return {};
}

std::vector<std::size_t> find_promotions(const SweepPlan& plan, std::span<const Trial> trials) {
  struct Candidate {
    std::size_t index;
    std::int64_t bracket;
    double loss;
  };

  std::vector<Candidate> candidates;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const auto bracket = trials[i].state == TrialState::Paused
                             ? last_bracket(plan.early_terminate, reports_of(trials[i]))
                             : std::nullopt;
    if (!bracket) {
      continue;
    }
    const double loss = best_loss(plan.metric, trials[i], *bracket);
    if (is_in_best_fraction(find_standing(plan, trials, *bracket, loss),
                            plan.early_terminate.eta)) {
      candidates.push_back({i, *bracket, loss});
    }
  }
  std::ranges::sort(candidates, [](const Candidate& a, const Candidate& b) {
    return a.bracket != b.bracket ? a.bracket > b.bracket : a.loss < b.loss;
  });
  std::vector<std::size_t> order;
  for (const Candidate& candidate : candidates) {
    order.push_back(candidate.index);
  }
  return order;
}

std::vector<std::size_t> find_stops(const SweepPlan& plan, std::span<const Trial> trials) {
  std::vector<std::size_t> stops;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (trials[i].state == TrialState::Running && judge(plan, trials, i).verdict != Verdict::GoOn) {
      stops.push_back(i);
    }
  }
  return stops;
}

}  // namespace kedge::search
