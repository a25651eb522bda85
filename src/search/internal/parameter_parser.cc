#include "search/internal/parameter_parser.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <yaml-cpp/yaml.h>

#include "core/nearest.h"
#include "core/plain_scalar.h"
#include "core/result.h"
#include "search/internal/yaml_value.h"

namespace kedge::search {
namespace {

// What W&B's names mean here.
struct NamedDistribution {
  std::string_view name;
  Distribution distribution;
  bool has_q = false;         // q is 1 where it is not given
  bool takes_values = false;  // the bounds are values, not exponents
};

constexpr auto kDistributions = std::to_array<NamedDistribution>({
    {"constant", Distribution::Constant},
    {"categorical", Distribution::Categorical},
    {"categorical_w_probabilities", Distribution::Categorical},
    {"int_uniform", Distribution::IntUniform},
    {"uniform", Distribution::Uniform},
    {"q_uniform", Distribution::Uniform, true},
    {"log_uniform", Distribution::LogUniform},
    {"log_uniform_values", Distribution::LogUniform, false, true},
    {"q_log_uniform", Distribution::LogUniform, true},
    {"q_log_uniform_values", Distribution::LogUniform, true, true},
    {"inv_log_uniform", Distribution::InvLogUniform},
    {"inv_log_uniform_values", Distribution::InvLogUniform, false, true},
    {"normal", Distribution::Normal},
    {"q_normal", Distribution::Normal, true},
    {"log_normal", Distribution::LogNormal},
    {"q_log_normal", Distribution::LogNormal, true},
    {"beta", Distribution::Beta},
    {"q_beta", Distribution::Beta, true},
});

constexpr auto kParameterKeys =
    std::to_array<std::string_view>({"value", "values", "probabilities", "min", "max", "mu",
                                     "sigma", "a", "b", "q", "distribution", "parameters"});

std::vector<std::string> names_of_distributions() {
  std::vector<std::string> names;
  for (const NamedDistribution& known : kDistributions) {
    names.emplace_back(known.name);
  }
  return names;
}

class ParameterParser {
 public:
  explicit ParameterParser(const std::string& where) : where_(where) {}

  Result<void> add_map(const YAML::Node& map, const std::vector<std::string>& prefix) {
    if (!map.IsMap() || map.size() == 0) {
      return std::unexpected(error_at(map, where_, "'parameters' must name at least one parameter",
                                      "for example: parameters: {lr: {values: [0.1, 0.01]}}"));
    }
    std::set<std::string> seen;
    for (const auto& entry : map) {
      std::vector<std::string> keys = prefix;
      keys.push_back(entry.first.IsScalar() ? entry.first.Scalar() : std::string());
      if (keys.back().empty() || !seen.insert(keys.back()).second) {
        return std::unexpected(
            error_at(entry.first, where_,
                     fmt::format("parameter '{}' is given twice or empty", keys.back())));
      }
      KEDGE_TRY(add(entry.second, keys));
    }
    return {};
  }

  std::vector<Parameter> take() { return std::move(parameters_); }

 private:
  Result<void> add(const YAML::Node& spec, const std::vector<std::string>& keys) {
    Parameter parameter;
    parameter.keys = keys;
    name_ = parameter.name();
    if (!spec.IsMap()) {
      return add_short(spec, std::move(parameter));
    }
    for (const auto& entry : spec) {
      const std::string key = entry.first.Scalar();
      if (std::ranges::find(kParameterKeys, key) == kParameterKeys.end()) {
        const std::vector<std::string> known(kParameterKeys.begin(), kParameterKeys.end());
        const Error error = unknown_name(fmt::format("key of parameter '{}':", name_), key, known);
        return std::unexpected(error_at(entry.first, where_, error.message, error.hint));
      }
    }
    if (spec["parameters"]) {
      return add_map(spec["parameters"], keys);
    }
    if (spec["value"]) {
      parameter.values = {json_of(spec["value"])};
    } else if (spec["values"]) {
      KEDGE_TRY(read_choices(spec, parameter));
    } else {
      KEDGE_TRY(read_range(spec, parameter));
    }
    parameters_.push_back(std::move(parameter));
    return {};
  }

  // `lr: [0.1, 0.01]` and `epochs: 3`, as people write them.
  Result<void> add_short(const YAML::Node& spec, Parameter parameter) {
    if (spec.IsSequence()) {
      YAML::Node whole;
      whole["values"] = spec;
      KEDGE_TRY(read_choices(whole, parameter));
    } else if (spec.IsScalar()) {
      parameter.values = {json_of(spec)};
    } else {
      return refuse(spec, "has neither 'value' nor 'values' nor 'min' and 'max'");
    }
    parameters_.push_back(std::move(parameter));
    return {};
  }

  Result<void> read_choices(const YAML::Node& spec, Parameter& parameter) {
    const YAML::Node values = spec["values"];
    if (!values.IsSequence() || values.size() == 0) {
      return refuse(values, "needs a list of at least one value in 'values'");
    }
    for (const auto& value : values) {
      parameter.values.push_back(json_of(value));
      const auto& all = parameter.values;
      if (std::find(all.begin(), all.end() - 1, all.back()) != all.end() - 1) {
        return refuse(value, fmt::format("has the value {} twice", all.back().dump()));
      }
    }
    parameter.distribution =
        parameter.values.size() == 1 ? Distribution::Constant : Distribution::Categorical;
    if (!spec["probabilities"]) {
      return {};
    }
    for (const auto& entry : spec["probabilities"]) {
      parameter.probabilities.push_back(KEDGE_TRY(number(entry, "probabilities")));
    }
    const auto& given = parameter.probabilities;
    const double sum = std::accumulate(given.begin(), given.end(), 0.0);
    const bool is_sound = given.size() == parameter.values.size() && std::abs(sum - 1) < 1e-6 &&
                          std::ranges::all_of(given, [](double p) { return p >= 0; });
    if (!is_sound) {
      return refuse(spec["probabilities"],
                    fmt::format("needs one probability per value ({}), together 1; they are {} and "
                                "make {:g}",
                                parameter.values.size(), given.size(), sum));
    }
    drop_impossible(parameter);
    return {};
  }

  // What has no probability is never handed out, so it must not be counted.
  static void drop_impossible(Parameter& parameter) {
    for (std::size_t i = parameter.values.size(); i-- > 0;) {
      if (parameter.probabilities[i] == 0) {
        const auto at = static_cast<std::ptrdiff_t>(i);
        parameter.values.erase(parameter.values.begin() + at);
        parameter.probabilities.erase(parameter.probabilities.begin() + at);
      }
    }
    if (parameter.values.size() == 1) {
      parameter.distribution = Distribution::Constant;
    }
  }

  Result<void> read_range(const YAML::Node& spec, Parameter& parameter) {
    const NamedDistribution known = KEDGE_TRY(find_distribution(spec));
    parameter.distribution = known.distribution;
    if (known.distribution == Distribution::Constant ||
        known.distribution == Distribution::Categorical) {
      return refuse(spec,
                    fmt::format("has the distribution {} but no 'value' or 'values'", known.name));
    }
    if (known.has_q || spec["q"]) {
      parameter.q = 1;
      parameter.is_integer = true;
    }
    if (spec["q"]) {
      parameter.q = KEDGE_TRY(number(spec["q"], "q"));
      parameter.is_integer = json_of(spec["q"]).is_number_integer();
      if (!(*parameter.q > 0)) {
        return refuse(spec["q"], "needs a 'q' above 0");
      }
    }
    if (known.distribution == Distribution::Normal ||
        known.distribution == Distribution::LogNormal) {
      return read_bell(spec, parameter);
    }
    if (known.distribution == Distribution::Beta) {
      parameter.mu = KEDGE_TRY(number(spec["a"], "a"));
      parameter.sigma = KEDGE_TRY(number(spec["b"], "b"));
      if (!(parameter.mu > 0 && parameter.sigma > 0)) {
        return refuse(spec, "needs 'a' and 'b' above 0");
      }
      return {};
    }
    return read_bounds(spec, known, parameter);
  }

  Result<NamedDistribution> find_distribution(const YAML::Node& spec) {
    if (spec["distribution"]) {
      const std::string name = spec["distribution"].as<std::string>("");
      const auto found = std::ranges::find(kDistributions, name, &NamedDistribution::name);
      if (found == kDistributions.end()) {
        const Error error = unknown_name("distribution", name, names_of_distributions());
        return std::unexpected(error_at(spec["distribution"], where_,
                                        fmt::format("parameter '{}': {}", name_, error.message),
                                        error.hint));
      }
      return *found;
    }
    if (spec["min"] && spec["max"]) {
      const bool is_whole =
          json_of(spec["min"]).is_number_integer() && json_of(spec["max"]).is_number_integer();
      return NamedDistribution{
          "", is_whole && !spec["q"] ? Distribution::IntUniform : Distribution::Uniform};
    }
    if (spec["mu"] || spec["sigma"]) {
      return NamedDistribution{"", Distribution::Normal};
    }
    return refused<NamedDistribution>(spec, "has neither 'value' nor 'values' nor 'min' and 'max'");
  }

  Result<void> read_bell(const YAML::Node& spec, Parameter& parameter) {
    parameter.mu = spec["mu"] ? KEDGE_TRY(number(spec["mu"], "mu")) : 0;
    parameter.sigma = spec["sigma"] ? KEDGE_TRY(number(spec["sigma"], "sigma")) : 1;
    if (!(parameter.sigma > 0)) {
      return refuse(spec["sigma"], "needs a 'sigma' above 0");
    }
    return {};
  }

  Result<void> read_bounds(const YAML::Node& spec, const NamedDistribution& known,
                           Parameter& parameter) {
    if (!spec["min"] || !spec["max"]) {
      return refuse(spec, "needs both 'min' and 'max'");
    }
    double min = KEDGE_TRY(number(spec["min"], "min"));
    double max = KEDGE_TRY(number(spec["max"], "max"));
    if (!(min <= max)) {
      return refuse(spec["min"], fmt::format("has min {:g} above max {:g}", min, max));
    }
    if (known.takes_values) {
      if (!(min > 0)) {
        return refuse(spec["min"],
                      fmt::format("needs a min above 0 for {}, not {:g}", known.name, min));
      }
      const bool is_inverse = known.distribution == Distribution::InvLogUniform;
      const double low = std::log(min);
      const double high = std::log(max);
      min = is_inverse ? -high : low;
      max = is_inverse ? -low : high;
    } else if (known.distribution == Distribution::LogUniform && max > 700) {
      return refuse(spec["max"],
                    "takes exponents of e in log_uniform; for values say "
                    "log_uniform_values");
    }
    const bool is_whole = min == std::floor(min) && max == std::floor(max);
    if (known.distribution == Distribution::IntUniform && !is_whole) {
      return refuse(spec["min"], "needs whole numbers as bounds of int_uniform");
    }
    parameter.min = min;
    parameter.max = max;
    if (min == max) {
      parameter.values = {parameter.value_at(0)};
      parameter.distribution = Distribution::Constant;
    } else if (parameter.count() == 0) {
      return refuse(spec, fmt::format("has no multiple of {:g} between its bounds", *parameter.q));
    }
    return {};
  }

  // Numbers in quotes count: PyYAML writes 1e-5 that way.
  Result<double> number(const YAML::Node& node, std::string_view key) {
    if (!node || !node.IsScalar()) {
      return refused<double>(node, fmt::format("needs a number as '{}'", key));
    }
    const nlohmann::json value = parse_plain_scalar(node.Scalar());
    if (!value.is_number()) {
      return refused<double>(node,
                             fmt::format("needs a number as '{}', not '{}'", key, node.Scalar()));
    }
    return value.get<double>();
  }

  Result<void> refuse(const YAML::Node& node, std::string_view what) {
    return refused<void>(node, what);
  }

  template <typename T>
  Result<T> refused(const YAML::Node& node, std::string_view what) {
    return std::unexpected(error_at(node, where_, fmt::format("parameter '{}' {}", name_, what)));
  }

  const std::string& where_;
  std::string name_;
  std::vector<Parameter> parameters_;
};

}  // namespace

Error error_at(const YAML::Node& node, const std::string& where, const std::string& message,
               const std::string& hint) {
  const bool has_line = node.IsDefined() && !node.Mark().is_null();
  return {ErrorKind::Usage,
          has_line ? fmt::format("{}:{}: {}", where, node.Mark().line + 1, message)
                   : fmt::format("{}: {}", where, message),
          hint};
}

Result<std::vector<Parameter>> parse_parameters(const YAML::Node& map, const std::string& where) {
  ParameterParser parser(where);
  KEDGE_TRY(parser.add_map(map, {}));
  return parser.take();
}

}  // namespace kedge::search
