// Asks the samplers for trials, driven line by line by bench/samplers_vs_optuna.py. Lines in:
//   plan YAML-on-one-line   method NAME   ask   ask_many N   tell VALUE
// Lines out: {"values": ..., "seconds": ...} for each ask.
#include "search/propose.h"

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/stopwatch.h"
#include "search/sweep_plan.h"
#include "search/trial.h"

namespace kedge::search {
namespace {

class Driver {
 public:
  // False: an error was reported.
  bool handle(const std::string& line) {
    const std::string word = line.substr(0, line.find(' '));
    const std::string rest = line.size() > word.size() ? line.substr(word.size() + 1) : "";
    if (word == "plan") {
      auto plan = parse_sweep(rest, "plan");
      if (!plan) {
        return kedge::report(plan.error()) == 0;
      }
      plan_ = std::move(*plan);
      trials_.clear();
    } else if (word == "method") {
      plan_.method = rest;
    } else if (word == "tell") {
      Trial& trial = trials_.at(told_for_);
      trial.state = TrialState::Finished;
      trial.metric = std::stod(rest);
    } else {
      return ask(word == "ask" ? 1 : std::stoll(rest));
    }
    return true;
  }

 private:
  bool ask(std::int64_t count) {
    const Stopwatch watch;
    const auto proposals = propose(plan_, trials_, count);
    const double seconds = watch.seconds();
    if (!proposals) {
      return kedge::report(proposals.error()) == 0;
    }
    told_for_ = trials_.size();
    for (const nlohmann::json& values : proposals->values) {
      trials_.push_back({.number = static_cast<std::int64_t>(trials_.size()) + 1,
                         .values = values,
                         .state = TrialState::Running});
    }
    std::cout << nlohmann::json{{"values", proposals->values}, {"seconds", seconds}} << std::endl;
    return true;
  }

  SweepPlan plan_;
  std::vector<Trial> trials_;
  std::size_t told_for_ = 0;
};

}  // namespace
}  // namespace kedge::search

int main() {
  kedge::search::Driver driver;
  std::string line;
  while (std::getline(std::cin, line)) {
    if (!driver.handle(line)) {
      return EXIT_FAILURE;
    }
  }
  return EXIT_SUCCESS;
}
