// `kedge importance ID`: which parameters of a sweep matter, and whether seeds tell settings apart.
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/shared/arguments.h"
#include "cli/shared/text_table.h"
#include "cli/sweep.h"
#include "cli/verbs.h"
#include "core/result.h"
#include "search/importance.h"
#include "search/seeds.h"
#include "search/trial.h"
#include "sweep/sweep.h"
#include "sweep/trial_table.h"

namespace kedge::cli {
namespace {

const VerbHelp kImportanceHelp = {
    .usage = "kedge importance ID [options]",
    .text =
        "Which parameters of a sweep matter: correlation with the metric, a random forest's "
        "permutation\nimportance, and the share of the variance that each explains by itself; "
        "each with its 95% interval.",
    .flags = {{"--seeds", "KEY", "compare settings over the seeds in this parameter instead"},
              kServerFlag,
              kTokenFlag,
              kSweepDirFlag,
              kJsonFlag}};

std::string render_estimate(const search::Estimate& estimate) {
  return fmt::format("{:.3f} [{:.3f}, {:.3f}]", estimate.value, estimate.low, estimate.high);
}

// A correlation; without a sign where the parameter's values have no order.
std::string render_correlation(const search::Importance& one) {
  const search::Estimate& r = one.correlation;
  return one.has_sign ? fmt::format("{:+.3f} [{:+.3f}, {:+.3f}]", r.value, r.low, r.high)
                      : render_estimate(r) + " (no sign)";
}

nlohmann::json to_json(const search::Estimate& estimate) {
  return {{"value", estimate.value}, {"low", estimate.low}, {"high", estimate.high}};
}

void print_importance(const search::ImportanceReport& report, bool as_json) {
  if (as_json) {
    nlohmann::json json = {{"trials", report.trials},
                           {"explained", report.explained},
                           {"parameters", nlohmann::json::array()}};
    for (const search::Importance& one : report.parameters) {
      json["parameters"].push_back({{"name", one.name},
                                    {"correlation", to_json(one.correlation)},
                                    {"correlation_has_sign", one.has_sign},
                                    {"permutation", to_json(one.permutation)},
                                    {"variance_share", to_json(one.variance_fraction)}});
    }
    fmt::print("{}\n", json.dump());
    return;
  }
  std::vector<std::vector<std::string>> rows = {
      {"parameter", "variance share", "permutation", "correlation"}};
  for (const search::Importance& one : report.parameters) {
    rows.push_back({one.name, render_estimate(one.variance_fraction),
                    render_estimate(one.permutation), render_correlation(one)});
  }
  fmt::print("{}from {} trials; the forest explains {:.0f}% of trials it has not seen\n",
             render_table(rows), report.trials, 100 * std::max(report.explained, 0.0));
  if (report.explained < 0.3) {
    fmt::print("that is little: the shares say more with more trials\n");
  }
}

std::string describe_comparison(const search::Comparison& comparison) {
  if (comparison.is_settled) {
    return "different";
  }
  return comparison.more_seeds ? fmt::format("needs {} more seeds", *comparison.more_seeds)
                               : "no difference to be found";
}

void print_seeds(const search::SeedReport& report, bool as_json) {
  if (as_json) {
    nlohmann::json json = {{"settings", nlohmann::json::array()},
                           {"comparisons", nlohmann::json::array()}};
    for (const search::Setting& setting : report.settings) {
      json["settings"].push_back({{"values", setting.values},
                                  {"seeds", setting.results.size()},
                                  {"mean", to_json(setting.mean)},
                                  {"deviation", setting.deviation}});
    }
    for (const search::Comparison& one : report.comparisons) {
      json["comparisons"].push_back({{"better", one.better},
                                     {"worse", one.worse},
                                     {"paired", one.is_paired},
                                     {"difference", to_json(one.difference)},
                                     {"p", one.p},
                                     {"settled", one.is_settled}});
      json["comparisons"].back()["more_seeds"] =
          one.more_seeds ? nlohmann::json(*one.more_seeds) : nlohmann::json();
    }
    fmt::print("{}\n", json.dump());
    return;
  }
  std::vector<std::vector<std::string>> rows = {
      {"setting", "seeds", "mean [95%]", "deviation", "against the best", "p (Holm)", "verdict"}};
  for (std::size_t i = 0; i < report.settings.size(); ++i) {
    const search::Setting& setting = report.settings[i];
    std::vector<std::string> row = {setting.values.dump(),
                                    std::to_string(setting.results.size()),
                                    render_estimate(setting.mean),
                                    fmt::format("{:.3f}", setting.deviation),
                                    "",
                                    "",
                                    i == 0 ? "best" : "one seed says nothing"};
    for (const search::Comparison& one : report.comparisons) {
      if (one.worse == i) {
        row[4] = render_estimate(one.difference);
        row[5] = fmt::format("{:.3g}", one.p);
        row[6] = describe_comparison(one);
      }
    }
    rows.push_back(std::move(row));
  }
  fmt::print("{}", render_table(rows));
}

Result<void> show_importance(const Arguments& arguments) {
  const auto sweep = KEDGE_TRY(open_sweep_of(arguments));
  std::vector<search::Trial> trials;
  for (const sweep::TrialView& view : KEDGE_TRY(sweep->read_trials())) {
    trials.push_back(view.trial);
  }
  const bool as_json = arguments.has("--json");
  if (const std::string key = arguments.value("--seeds"); !key.empty()) {
    print_seeds(KEDGE_TRY(search::compare_seeds(sweep->plan().metric, trials, key)), as_json);
    return {};
  }
  search::SweepPlan plan = sweep->plan();
  if (plan.method == "list") {
    plan.space = search::space_of(trials);
  }
  print_importance(KEDGE_TRY(search::find_importance(plan, trials)), as_json);
  return {};
}

}  // namespace

int run_importance(Args args) {
  const auto arguments = parse_or_help(args, kImportanceHelp);
  if (!arguments) {
    return report(arguments.error());
  }
  if (!*arguments) {
    return kExitDone;
  }
  const auto done = show_importance(**arguments);
  return done ? kExitDone : report(done.error());
}

}  // namespace kedge::cli
