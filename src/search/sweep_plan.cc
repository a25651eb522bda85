#include "search/sweep_plan.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
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
#include "search/internal/parameter_parser.h"
#include "search/internal/yaml_value.h"

namespace kedge::search {
namespace {

// W&B's keys, then ours.
constexpr auto kPlanKeys = std::to_array<std::string_view>(
    {"program", "method", "metric", "parameters", "early_terminate", "command", "name",
     "description", "project", "entity", "run_cap", "controller", "scheduler", "job", "image_uri",
     "seed", "retries"});

constexpr auto kMetricKeys = std::to_array<std::string_view>({"name", "goal", "target", "use"});
// W&B's schema has them; they tell its own server what to assume of runs without a value.
constexpr auto kForeignMetricKeys =
    std::to_array<std::string_view>({"impute", "impute_while_running"});
constexpr auto kEarlyTerminateKeys = std::to_array<std::string_view>(
    {"type", "min_iter", "max_iter", "s", "eta", "strict", "min_trials", "promote"});

class PlanParser {
 public:
  PlanParser(const YAML::Node& root, const std::string& where) : root_(root), where_(where) {}

  Result<SweepPlan> parse() {
    if (!root_.IsMap()) {
      return fail(ErrorKind::Usage, where_ + ": a sweep file is a map of keys",
                  "it needs at least method and parameters");
    }
    warn_of_unknown_keys();
    plan_.name = text("name");
    plan_.description = text("description");
    plan_.project = text("project");
    plan_.entity = text("entity");
    plan_.program = text("program");
    plan_.method = text("method");
    if (plan_.method.empty()) {
      return refuse(root_, "'method' is missing", "one of grid, random, bayes");
    }
    KEDGE_TRY(read_command());
    KEDGE_TRY(read_metric());
    plan_.run_cap = KEDGE_TRY(whole(root_, "run_cap", 1));
    plan_.seed = static_cast<std::uint64_t>(KEDGE_TRY(whole(root_, "seed", 0)).value_or(0));
    plan_.retries = KEDGE_TRY(whole(root_, "retries", 0)).value_or(0);
    KEDGE_TRY(read_early_terminate());
    if (!root_["parameters"]) {
      return refuse(root_, "'parameters' is missing",
                    "for example: parameters: {lr: {values: [0.1, 0.01]}}");
    }
    plan_.space = Space(KEDGE_TRY(parse_parameters(root_["parameters"], where_)));
    return std::move(plan_);
  }

 private:
  void warn(const YAML::Node& key, const std::string& message) {
    plan_.warnings.push_back(error_at(key, where_, message + " (it has no effect)").message);
  }

  void warn_of_unknown_keys() {
    for (const auto& entry : root_) {
      if (const auto error = find_unknown(entry.first, "", kPlanKeys)) {
        warn(entry.first, error->message);
      }
    }
  }

  // `section` is "metric." or the like.
  static std::optional<Error> find_unknown(const YAML::Node& key, const std::string& section,
                                           std::span<const std::string_view> keys) {
    const std::string name = key.IsScalar() ? key.Scalar() : "?";
    if (std::ranges::find(keys, name) != keys.end()) {
      return std::nullopt;
    }
    std::vector<std::string> known;
    for (const std::string_view one : keys) {
      known.push_back(section + std::string(one));
    }
    return unknown_name("key", section + name, known);
  }

  Result<void> check_keys(const YAML::Node& map, const std::string& section,
                          std::span<const std::string_view> keys) {
    for (const auto& entry : map) {
      if (const auto error = find_unknown(entry.first, section, keys)) {
        return refused<void>(entry.first, error->message, error->hint);
      }
    }
    return {};
  }

  std::string text(const char* key) const {
    const YAML::Node node = root_[key];
    return node && node.IsScalar() ? node.Scalar() : std::string();
  }

  Result<void> read_command() {
    const YAML::Node command = root_["command"];
    if (!command || command.IsNull()) {
      return {};
    }
    if (!command.IsSequence()) {
      return refused<void>(command, "'command' must be a list of words",
                           "for example: [\"${env}\", python, \"${program}\", \"${args}\"]");
    }
    for (const auto& word : command) {
      plan_.command.push_back(word.as<std::string>(""));
    }
    return {};
  }

  Result<void> read_metric() {
    const YAML::Node metric = root_["metric"];
    if (!metric || metric.IsNull()) {
      return {};
    }
    if (!metric.IsMap() || !metric["name"]) {
      return refused<void>(metric, "'metric' needs a name", "metric: {name: val/loss}");
    }
    for (const auto& entry : metric) {
      const std::string key = entry.first.as<std::string>("");
      if (std::ranges::find(kForeignMetricKeys, key) != kForeignMetricKeys.end()) {
        warn(entry.first, fmt::format("'metric.{}' is for W&B's server", key));
      } else if (const auto error = find_unknown(entry.first, "metric.", kMetricKeys)) {
        return refused<void>(entry.first, error->message, error->hint);
      }
    }
    plan_.metric.name = metric["name"].as<std::string>("");
    const std::string goal = metric["goal"].as<std::string>("minimize");
    if (goal != "minimize" && goal != "maximize") {
      return refused<void>(metric["goal"],
                           fmt::format("metric goal '{}' is neither minimize nor "
                                       "maximize",
                                       goal),
                           "");
    }
    plan_.metric.goal = goal == "maximize" ? Goal::Maximize : Goal::Minimize;
    const std::string use = metric["use"].as<std::string>("last");
    if (use != "last" && use != "best") {
      return refused<void>(metric["use"], "metric use must be last or best", "");
    }
    plan_.metric.uses_best = use == "best";
    if (metric["target"]) {
      const nlohmann::json target = parse_plain_scalar(metric["target"].as<std::string>(""));
      if (!target.is_number()) {
        return refused<void>(metric["target"], "metric target must be a number", "");
      }
      plan_.metric.target = target.get<double>();
    }
    return {};
  }

  Result<void> read_early_terminate() {
    const YAML::Node node = root_["early_terminate"];
    if (!node || node.IsNull()) {
      return {};
    }
    if (!node.IsMap()) {
      return refused<void>(node, "'early_terminate' must be a map",
                           "early_terminate: {type: "
                           "hyperband, min_iter: 3}");
    }
    KEDGE_TRY(check_keys(node, "early_terminate.", kEarlyTerminateKeys));
    EarlyTerminate& rule = plan_.early_terminate;
    const std::string type = node["type"].as<std::string>("");
    const std::vector<std::string> known = {"hyperband", "asha", "median", "none"};
    const std::array rules = {Rule::Hyperband, Rule::Asha, Rule::Median, Rule::None};
    const auto found = std::ranges::find(known, type);
    if (found == known.end()) {
      const Error error = unknown_name("early_terminate type", type, known);
      return refused<void>(node, error.message, error.hint);
    }
    rule.rule = rules.at(static_cast<std::size_t>(found - known.begin()));
    rule.min_iter = KEDGE_TRY(whole(node, "min_iter", 1)).value_or(0);
    rule.max_iter = KEDGE_TRY(whole(node, "max_iter", 1)).value_or(0);
    rule.s = KEDGE_TRY(whole(node, "s", 1)).value_or(0);
    rule.min_trials = KEDGE_TRY(whole(node, "min_trials", 1)).value_or(rule.min_trials);
    rule.eta = node["eta"] ? node["eta"].as<double>(0) : rule.eta;
    rule.strict = node["strict"].as<bool>(false);
    rule.is_promoting = node["promote"].as<bool>(true);
    return check_early_terminate(node);
  }

  Result<void> check_early_terminate(const YAML::Node& node) {
    EarlyTerminate& rule = plan_.early_terminate;
    if (rule.rule == Rule::None) {
      return {};
    }
    if (plan_.metric.name.empty()) {
      return refused<void>(node, "early_terminate needs a metric", "metric: {name: val/loss}");
    }
    if (!(rule.eta > 1)) {
      return refused<void>(node["eta"], "early_terminate eta must be above 1", "");
    }
    if (rule.rule == Rule::Median) {
      rule.min_iter = std::max<std::int64_t>(rule.min_iter, 1);
      return {};
    }
    if (rule.min_iter == 0 && rule.max_iter == 0) {
      return refused<void>(node, "early_terminate needs min_iter, or max_iter and s",
                           "early_terminate: {type: hyperband, min_iter: 3}");
    }
    if (rule.max_iter > 0 && rule.min_iter == 0 && rule.s == 0) {
      return refused<void>(node, "early_terminate with max_iter needs s, the number of brackets",
                           "with max_iter 27, s 2 and eta 3 they are 3 and 9");
    }
    return {};
  }

  Result<std::optional<std::int64_t>> whole(const YAML::Node& map, const char* key,
                                            std::int64_t min) {
    const YAML::Node node = map[key];
    if (!node || node.IsNull()) {
      return std::nullopt;
    }
    const nlohmann::json value =
        node.IsScalar() ? parse_plain_scalar(node.Scalar()) : nlohmann::json();
    if (!value.is_number_integer() || value.get<std::int64_t>() < min) {
      return refused<std::optional<std::int64_t>>(
          node, fmt::format("'{}' must be a whole number of at least {}", key, min), "");
    }
    return value.get<std::int64_t>();
  }

  Result<SweepPlan> refuse(const YAML::Node& node, std::string message, std::string hint) {
    return refused<SweepPlan>(node, std::move(message), std::move(hint));
  }

  template <typename T>
  Result<T> refused(const YAML::Node& node, std::string message, std::string hint) {
    return std::unexpected(error_at(node, where_, message, hint));
  }

  const YAML::Node& root_;
  const std::string& where_;
  SweepPlan plan_;
};

}  // namespace

Result<SweepPlan> parse_sweep(const std::string& yaml_text, const std::string& where) {
  try {
    const YAML::Node root = YAML::Load(yaml_text);
    // Our own form: a section of a config file.
    const bool is_section = root.IsMap() && root["sweep"] && root["sweep"].IsMap();
    const YAML::Node plan = is_section ? root["sweep"] : root;
    auto parsed = KEDGE_TRY(PlanParser(plan, where).parse());
    parsed.is_section = is_section;
    return parsed;
  } catch (const YAML::Exception& error) {
    return fail(ErrorKind::Usage,
                error.mark.is_null()
                    ? fmt::format("{}: not YAML: {}", where, error.msg)
                    : fmt::format("{}:{}: not YAML: {}", where, error.mark.line + 1, error.msg));
  }
}

std::optional<std::int64_t> expected_runs(const SweepPlan& plan) {
  std::optional<std::int64_t> count = plan.run_cap;
  const auto limit = [&](std::int64_t other) { count = count ? std::min(*count, other) : other; };
  if (plan.method == "list") {
    limit(static_cast<std::int64_t>(plan.rows.size()));
  } else if (const auto size = plan.space.count()) {
    limit(static_cast<std::int64_t>(*size));
  }
  return count;
}

}  // namespace kedge::search
