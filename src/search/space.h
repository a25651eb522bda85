// A Space is what a sweep may try: parameters, each a distribution given by its quantile function.
// A point of the space is one number in [0, 1) per parameter, so that a sampler sees a cube
// whatever the parameters are: logarithms, bells, steps and choices are the parameters' business.
// This room does pure computation: no files, no clocks, no randomness but from keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/result.h"

namespace kedge::search {

enum class Distribution : std::uint8_t {
  Constant,
  Categorical,
  IntUniform,
  Uniform,
  LogUniform,     // log(x) is uniform in [min, max]
  InvLogUniform,  // log(1/x) is
  Normal,
  LogNormal,
  Beta,
};

struct Parameter {
  // The way through nested objects: {"optimizer", "lr"}. A name with dots is one key.
  std::vector<std::string> keys;
  Distribution distribution = Distribution::Constant;
  std::vector<nlohmann::json> values = {};  // of Constant (one) and Categorical
  std::vector<double> probabilities = {};   // of Categorical; empty: all alike
  double min = 0;                           // of *Uniform; of the logarithm where one is uniform
  double max = 0;
  double mu = 0;  // of *Normal; the a and b of Beta
  double sigma = 1;
  std::optional<double> q = {};  // values are multiples of it
  bool is_integer = false;       // values are handed out as whole numbers

  std::string name() const;  // the keys joined by dots

  // How many values it can have; nothing: too many to count.
  std::optional<std::uint64_t> count() const;

  bool is_categorical() const { return distribution == Distribution::Categorical; }

  // The value at a quantile in [0, 1).
  nlohmann::json value_at(double u) const;

  // A quantile that gives the value; always the same one for the same value. Nothing when the
  // value cannot be one of this parameter's.
  std::optional<double> find(const nlohmann::json& value) const;

  // The index of the value at a quantile, in [0, count()); only where there is a count.
  std::uint64_t index_at(double u) const;
  double quantile_of(std::uint64_t index) const;
};

using Point = std::vector<double>;

class Space {
 public:
  Space() = default;
  explicit Space(std::vector<Parameter> parameters);

  // Those that vary, in the order of the file: the axes of points.
  const std::vector<Parameter>& axes() const { return axes_; }

  const std::vector<Parameter>& constants() const { return constants_; }

  // What a trial gets: {"lr": 0.1, "net": {"depth": 2}}, constants included.
  nlohmann::json values_at(std::span<const double> point) const;

  // The point of such values; nothing when one is missing or cannot be of this space. Keys that are
  // none of the space's are passed over.
  std::optional<Point> locate(const nlohmann::json& values) const;

  // The point with every coordinate replaced by the one locate() gives for its value.
  Point snap(std::span<const double> point) const;

  // The number of different points; nothing: unlimited.
  std::optional<std::uint64_t> count() const;

  // Point number `index` of count(), the last axis changing fastest: the order of grids.
  Point grid_point(std::uint64_t index) const;

 private:
  std::vector<Parameter> axes_;
  std::vector<Parameter> constants_;
};

// values["net"]["depth"], or nothing.
const nlohmann::json* find_value(const nlohmann::json& values, std::span<const std::string> keys);

// Every leaf of nested values by its dotted name, sorted: {"net.depth": 2}.
nlohmann::json flatten(const nlohmann::json& values);

}  // namespace kedge::search
