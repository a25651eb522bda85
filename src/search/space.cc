#include "search/space.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "core/result.h"
#include "search/internal/probability.h"

namespace kedge::search {
namespace {

// Quantiles stay inside, where bells are finite.
constexpr double kEdge = 1e-12;
// Beyond this many values numbers of double precision are no longer apart.
constexpr double kCountMax = 1e15;

double quantile(const Parameter& p, double u) {
  switch (p.distribution) {
    case Distribution::LogUniform:
      return std::exp(p.min + (p.max - p.min) * u);
    case Distribution::InvLogUniform:
      return std::exp(-(p.max - (p.max - p.min) * u));
    case Distribution::Normal:
      return p.mu + p.sigma * normal_quantile(std::clamp(u, kEdge, 1 - kEdge));
    case Distribution::LogNormal:
      return std::exp(p.mu + p.sigma * normal_quantile(std::clamp(u, kEdge, 1 - kEdge)));
    case Distribution::Beta:
      return beta_quantile(u, p.mu, p.sigma);
    case Distribution::Uniform:
    case Distribution::IntUniform:
    case Distribution::Constant:
    case Distribution::Categorical:
      break;
  }
  return p.min + (p.max - p.min) * u;
}

double cdf(const Parameter& p, double x) {
  const auto fraction = [](double low, double high, double at) {
    return high > low ? std::clamp((at - low) / (high - low), 0.0, 1.0) : 0.5;
  };
  switch (p.distribution) {
    case Distribution::LogUniform:
      return x > 0 ? fraction(p.min, p.max, std::log(x)) : 0;
    case Distribution::InvLogUniform:
      return x > 0 ? fraction(-p.max, -p.min, std::log(x)) : 0;
    case Distribution::Normal:
      return normal_cdf((x - p.mu) / p.sigma);
    case Distribution::LogNormal:
      return x > 0 ? normal_cdf((std::log(x) - p.mu) / p.sigma) : 0;
    case Distribution::Beta:
      return beta_cdf(x, p.mu, p.sigma);
    case Distribution::Uniform:
    case Distribution::IntUniform:
    case Distribution::Constant:
    case Distribution::Categorical:
      break;
  }
  return fraction(p.min, p.max, x);
}

struct Multiples {
  double first = 0;
  double last = 0;
};

// The multiples of q between the bounds; nothing where there are no bounds or no q.
std::optional<Multiples> find_multiples(const Parameter& p) {
  const bool is_bounded =
      p.distribution == Distribution::Uniform || p.distribution == Distribution::LogUniform ||
      p.distribution == Distribution::InvLogUniform || p.distribution == Distribution::Beta;
  if (!p.q || !is_bounded) {
    return std::nullopt;
  }
  const double low = p.distribution == Distribution::Beta ? 0 : quantile(p, 0);
  const double high = p.distribution == Distribution::Beta ? 1 : quantile(p, 1);
  constexpr double kSlack = 1e-9;  // 0.3 is 2.9999999999999996 tenths
  return Multiples{std::ceil(low / *p.q - kSlack), std::floor(high / *p.q + kSlack)};
}

// A multiple of q without the noise of the multiplication: 0.3, not 0.30000000000000004.
double multiple(double k, double q) {
  const double inverse = std::round(1 / q);
  return std::abs(q * inverse - 1) < 1e-12 && inverse > 1 ? k / inverse : k * q;
}

nlohmann::json number_json(const Parameter& p, double x) {
  if (p.is_integer) {
    return static_cast<std::int64_t>(std::llround(x));
  }
  return x;
}

std::vector<double> cumulative(const Parameter& p) {
  std::vector<double> sums;
  sums.reserve(p.probabilities.size());
  double sum = 0;
  for (const double probability : p.probabilities) {
    sums.push_back(sum += probability);
  }
  return sums;
}

void set_value(nlohmann::json& values, std::span<const std::string> keys, nlohmann::json value) {
  nlohmann::json* at = &values;
  for (const std::string& key : keys) {
    at = &(*at)[key];
  }
  *at = std::move(value);
}

void flatten_into(const nlohmann::json& values, const std::string& prefix, nlohmann::json& flat) {
  for (const auto& [key, value] : values.items()) {
    const std::string name = prefix.empty() ? key : prefix + "." + key;
    if (value.is_object() && !value.empty()) {
      flatten_into(value, name, flat);
    } else {
      flat[name] = value;
    }
  }
}

}  // namespace

std::string Parameter::name() const {
  return fmt::format("{}", fmt::join(keys, "."));
}

std::optional<std::uint64_t> Parameter::count() const {
  switch (distribution) {
    case Distribution::Constant:
      return 1;
    case Distribution::Categorical:
      return values.size();
    case Distribution::IntUniform:
      return max - min < kCountMax ? std::optional(static_cast<std::uint64_t>(max - min) + 1)
                                   : std::nullopt;
    default:
      break;
  }
  const auto multiples = find_multiples(*this);
  if (!multiples || multiples->last - multiples->first >= kCountMax) {
    return std::nullopt;
  }
  return multiples->last < multiples->first
             ? 0
             : static_cast<std::uint64_t>(multiples->last - multiples->first) + 1;
}

std::uint64_t Parameter::index_at(double u) const {
  const std::uint64_t size = *count();
  const auto clamp = [size](double index) {
    return std::min(static_cast<std::uint64_t>(std::max(index, 0.0)), size - 1);
  };
  if (is_categorical() && !probabilities.empty()) {
    const auto sums = cumulative(*this);
    const auto found = std::ranges::upper_bound(sums, u * sums.back());
    return clamp(static_cast<double>(found - sums.begin()));
  }
  if (const auto multiples = find_multiples(*this)) {
    return clamp(std::round(quantile(*this, u) / *q) - multiples->first);
  }
  return clamp(std::floor(u * static_cast<double>(size)));
}

double Parameter::quantile_of(std::uint64_t index) const {
  const auto at = static_cast<double>(index);
  if (is_categorical() && !probabilities.empty()) {
    const auto sums = cumulative(*this);
    return (sums[index] - 0.5 * probabilities[index]) / sums.back();
  }
  if (const auto multiples = find_multiples(*this)) {
    const double k = multiples->first + at;
    const double low = k == multiples->first ? 0 : cdf(*this, (k - 0.5) * *q);
    const double high = k == multiples->last ? 1 : cdf(*this, (k + 0.5) * *q);
    return 0.5 * (low + high);
  }
  return (at + 0.5) / static_cast<double>(*count());
}

nlohmann::json Parameter::value_at(double u) const {
  if (distribution == Distribution::Constant) {
    return values.front();
  }
  if (is_categorical()) {
    return values[index_at(u)];
  }
  if (distribution == Distribution::IntUniform) {
    const double size = max - min + 1;
    return static_cast<std::int64_t>(min + std::min(std::floor(u * size), size - 1));
  }
  double x = quantile(*this, u);
  if (q) {
    double k = std::round(x / *q);
    if (const auto multiples = find_multiples(*this)) {
      k = std::clamp(k, multiples->first, multiples->last);
    }
    x = multiple(k, *q);
  }
  return number_json(*this, x);
}

std::optional<double> Parameter::find(const nlohmann::json& value) const {
  if (distribution == Distribution::Constant) {
    return 0.5;
  }
  if (is_categorical()) {
    const auto found = std::ranges::find(values, value);
    return found == values.end()
               ? std::nullopt
               : std::optional(quantile_of(static_cast<std::uint64_t>(found - values.begin())));
  }
  if (!value.is_number()) {
    return std::nullopt;
  }
  const double x = value.get<double>();
  if (distribution == Distribution::IntUniform) {
    const bool is_inside = x >= min && x <= max && x == std::floor(x);
    return is_inside ? std::optional((x - min + 0.5) / (max - min + 1)) : std::nullopt;
  }
  const double slack = 1e-9 * (1 + std::abs(x));
  if (const auto multiples = find_multiples(*this)) {
    const double k = std::round(x / *q);
    const bool is_inside =
        std::abs(k * *q - x) <= slack && k >= multiples->first && k <= multiples->last;
    return is_inside ? std::optional(quantile_of(static_cast<std::uint64_t>(k - multiples->first)))
                     : std::nullopt;
  }
  const bool is_unbounded = distribution == Distribution::Normal ||
                            (distribution == Distribution::LogNormal && (x > 0 || (q && x == 0)));
  if (!is_unbounded && (x < quantile(*this, 0) - slack || x > quantile(*this, 1) + slack)) {
    return std::nullopt;
  }
  return std::clamp(cdf(*this, x), 0.0, 1 - kEdge);
}

Space::Space(std::vector<Parameter> parameters) {
  for (Parameter& parameter : parameters) {
    const bool is_constant = parameter.distribution == Distribution::Constant;
    (is_constant ? constants_ : axes_).push_back(std::move(parameter));
  }
}

nlohmann::json Space::values_at(std::span<const double> point) const {
  KEDGE_CHECK(point.size() == axes_.size(), "a point has one coordinate per axis");
  nlohmann::json values = nlohmann::json::object();
  for (const Parameter& constant : constants_) {
    set_value(values, constant.keys, constant.values.front());
  }
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    set_value(values, axes_[i].keys, axes_[i].value_at(point[i]));
  }
  return values;
}

std::optional<Point> Space::locate(const nlohmann::json& values) const {
  Point point;
  point.reserve(axes_.size());
  for (const Parameter& axis : axes_) {
    const nlohmann::json* const value = find_value(values, axis.keys);
    const auto found = value != nullptr ? axis.find(*value) : std::nullopt;
    if (!found) {
      return std::nullopt;
    }
    point.push_back(*found);
  }
  return point;
}

Point Space::snap(std::span<const double> point) const {
  Point snapped;
  snapped.reserve(point.size());
  for (std::size_t i = 0; i < point.size(); ++i) {
    snapped.push_back(axes_[i].count() ? axes_[i].quantile_of(axes_[i].index_at(point[i]))
                                       : point[i]);
  }
  return snapped;
}

std::optional<std::uint64_t> Space::count() const {
  unsigned __int128 product = 1;
  for (const Parameter& axis : axes_) {
    const auto count = axis.count();
    if (!count) {
      return std::nullopt;
    }
    product *= *count;
    if (product > std::numeric_limits<std::int64_t>::max()) {
      return std::nullopt;
    }
  }
  return static_cast<std::uint64_t>(product);
}

Point Space::grid_point(std::uint64_t index) const {
  Point point(axes_.size());
  for (std::size_t i = axes_.size(); i-- > 0;) {
    const std::uint64_t size = *axes_[i].count();
    point[i] = axes_[i].quantile_of(index % size);
    index /= size;
  }
  return point;
}

const nlohmann::json* find_value(const nlohmann::json& values, std::span<const std::string> keys) {
  const nlohmann::json* at = &values;
  for (const std::string& key : keys) {
    if (!at->is_object()) {
      return nullptr;
    }
    const auto found = at->find(key);
    if (found == at->end()) {
      return nullptr;
    }
    at = &*found;
  }
  return at;
}

nlohmann::json flatten(const nlohmann::json& values) {
  nlohmann::json flat = nlohmann::json::object();
  flatten_into(values, {}, flat);
  return flat;
}

}  // namespace kedge::search
