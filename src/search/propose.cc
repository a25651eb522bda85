#include "search/propose.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/hash.h"
#include "core/nearest.h"
#include "core/random.h"
#include "core/result.h"
#include "search/sampler.h"
#include "search/space.h"

namespace kedge::search {
namespace {

// So often a sampler may come up with values that are taken, before unused ones are looked for.
constexpr std::int64_t kTriesMax = 64;

// Numbers that are equal are written alike.
nlohmann::json normalise(const nlohmann::json& value) {
  if (value.is_object()) {
    nlohmann::json map = nlohmann::json::object();
    for (const auto& [key, entry] : value.items()) {
      map[key] = normalise(entry);
    }
    return map;
  }
  if (value.is_number_float()) {
    const double number = value.get<double>();
    if (std::abs(number) < 1e15 && number == std::floor(number)) {
      return static_cast<std::int64_t>(number);
    }
  }
  return value;
}

bool has_result(const Trial& trial) {
  return trial.metric && (trial.state == TrialState::Finished ||
                          trial.state == TrialState::Stopped || trial.state == TrialState::Paused);
}

// Of a point as locate() gives it. Two points with one key cost a try, nothing else.
std::uint64_t key_of(const Point& point) {
  return xxh3_64(
      {reinterpret_cast<const std::uint8_t*>(point.data()), point.size() * sizeof(double)});
}

// The history as samplers see it.
class Ledger {
 public:
  Ledger(const SweepPlan& plan, std::span<const Trial> trials) {
    double worst = -std::numeric_limits<double>::infinity();
    std::vector<const Trial*> ordered;
    for (const Trial& trial : trials) {
      ordered.push_back(&trial);
      next_number_ = std::max(next_number_, trial.number + 1);
      if (has_result(trial) && std::isfinite(*trial.metric)) {
        worst = std::max(worst, plan.metric.loss_of(*trial.metric));
      }
    }
    std::ranges::sort(ordered, {}, &Trial::number);
    for (const Trial* const trial : ordered) {
      // Values that are none of the space's cannot be proposed again.
      if (auto point = plan.space.locate(trial->values)) {
        located_ += taken_.insert(key_of(*point)).second ? 1 : 0;
        add(plan.metric, *trial, std::move(*point), worst);
      }
    }
  }

  // `worst` is not finite while nothing has finished.
  void add(const Metric& metric, const Trial& trial, Point point, double worst) {
    const bool is_bad =
        trial.state == TrialState::Failed || (has_result(trial) && !std::isfinite(*trial.metric));
    if (has_result(trial) && !is_bad) {
      told_.push_back({std::move(point), metric.loss_of(*trial.metric)});
    } else if (is_bad && std::isfinite(worst)) {
      // A failure tells as much as the worst result: keep away.
      told_.push_back({std::move(point), worst});
    } else {
      pending_.push_back(std::move(point));
    }
  }

  // False when the point is out already.
  bool take(Point point) {
    if (!taken_.insert(key_of(point)).second) {
      return false;
    }
    pending_.push_back(std::move(point));
    ++located_;
    ++next_number_;
    return true;
  }

  bool is_taken(const Point& point) const { return taken_.contains(key_of(point)); }

  std::int64_t next_number() const { return next_number_; }

  std::uint64_t located() const { return located_; }

  const std::vector<Observation>& told() const { return told_; }

  const std::vector<Point>& pending() const { return pending_; }

 private:
  std::vector<Observation> told_;
  std::vector<Point> pending_;
  std::unordered_set<std::uint64_t> taken_;
  std::int64_t next_number_ = 1;
  std::uint64_t located_ = 0;
};

// The first unused point behind a random one.
std::optional<Point> find_unused(const SweepPlan& plan, const Ledger& ledger) {
  const auto size = plan.space.count();
  if (!size) {
    return std::nullopt;
  }
  Random random({plan.seed, static_cast<std::uint64_t>(ledger.next_number())});
  const std::uint64_t begin = random.below(*size);
  for (std::uint64_t i = 0; i < *size; ++i) {
    Point point = plan.space.grid_point((begin + i) % *size);
    if (!ledger.is_taken(point)) {
      return point;
    }
  }
  return std::nullopt;
}

std::optional<nlohmann::json> propose_one(const SweepPlan& plan, Sampler& sampler, Ledger& ledger) {
  const std::int64_t tries_max =
      plan.method == "grid" ? std::numeric_limits<std::int64_t>::max() : kTriesMax;
  for (std::int64_t tries = 0; tries < tries_max; ++tries) {
    const auto point = sampler.next(ledger.pending(), ledger.next_number(), tries);
    if (!point) {
      return std::nullopt;
    }
    nlohmann::json values = plan.space.values_at(*point);
    auto located = plan.space.locate(values);
    KEDGE_CHECK(located.has_value(), "a sampler's values lie in the space");
    if (ledger.take(std::move(*located))) {
      return values;
    }
  }
  if (const auto point = find_unused(plan, ledger)) {
    nlohmann::json values = plan.space.values_at(*point);
    ledger.take(*point);
    return values;
  }
  return std::nullopt;
}

// Why there is nothing more to propose, before the space is looked at.
std::string find_end(const SweepPlan& plan, std::span<const Trial> trials) {
  for (const Trial& trial : trials) {
    if (trial.state == TrialState::Finished && trial.metric &&
        plan.metric.is_reached(*trial.metric)) {
      return fmt::format("trial {} reached the target: {} is {:g}", trial.number, plan.metric.name,
                         *trial.metric);
    }
  }
  if (plan.run_cap && static_cast<std::int64_t>(trials.size()) >= *plan.run_cap) {
    return fmt::format("run_cap {} is reached", *plan.run_cap);
  }
  return {};
}

Proposals take_rows(const SweepPlan& plan, std::size_t begin, std::int64_t count) {
  Proposals proposals;
  const std::size_t end = std::min(plan.rows.size(), begin + static_cast<std::size_t>(count));
  for (std::size_t i = begin; i < end; ++i) {
    proposals.values.push_back(plan.rows[i]);
  }
  if (static_cast<std::int64_t>(proposals.values.size()) < count) {
    proposals.end = fmt::format("all {} rows are handed out", plan.rows.size());
  }
  return proposals;
}

}  // namespace

std::string identity_of(const nlohmann::json& values) {
  return normalise(values).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<void> check_plan(const SweepPlan& plan) {
  if (plan.method == "list") {
    return {};
  }
  if (plan.method == "custom") {
    return fail(ErrorKind::Usage, "method custom has its trials proposed by another program",
                "choose grid, random, bayes or another method of `kedge list samplers`");
  }
  std::vector<std::string> names;
  for (const auto& [name, entry] : Samplers::all()) {
    names.emplace_back(name);
  }
  if (std::ranges::find(names, plan.method) == names.end()) {
    return std::unexpected(unknown_name("method", plan.method, names));
  }
  if (plan.method != "grid") {
    return {};
  }
  for (const Parameter& axis : plan.space.axes()) {
    if (!axis.count()) {
      return fail(
          ErrorKind::Usage,
          fmt::format("method grid needs values: parameter '{}' is continuous", axis.name()),
          "give it values, whole bounds or q; or choose random or bayes");
    }
  }
  if (!plan.space.count()) {
    return fail(ErrorKind::Usage, "the grid has more points than can be counted",
                "choose random or bayes with a run_cap");
  }
  return {};
}

Result<Proposals> propose(const SweepPlan& plan, std::span<const Trial> trials,
                          std::int64_t count) {
  KEDGE_TRY(check_plan(plan));
  Proposals proposals;
  proposals.end = find_end(plan, trials);
  if (proposals.is_end()) {
    return proposals;
  }
  std::int64_t wanted = count;
  if (plan.run_cap) {
    wanted = std::min(wanted, *plan.run_cap - static_cast<std::int64_t>(trials.size()));
  }
  if (plan.method == "list") {
    return take_rows(plan, trials.size(), wanted);
  }
  Ledger ledger(plan, trials);
  const std::vector<Observation> told = ledger.told();
  const auto sampler = KEDGE_TRY(
      Samplers::make("method", plan.method, Problem{plan.space, told, plan.seed, plan.run_cap}));
  const auto size = plan.space.count();
  while (static_cast<std::int64_t>(proposals.values.size()) < wanted) {
    auto values =
        size && ledger.located() >= *size ? std::nullopt : propose_one(plan, *sampler, ledger);
    if (!values) {
      proposals.end = size ? fmt::format("all {} points are handed out", *size)
                           : "no values are left that have not been handed out";
      return proposals;
    }
    proposals.values.push_back(std::move(*values));
  }
  if (wanted < count) {
    proposals.end = fmt::format("run_cap {} is reached", *plan.run_cap);
  }
  return proposals;
}

}  // namespace kedge::search
