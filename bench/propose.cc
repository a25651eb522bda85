// Asks the samplers for trials, driven line by line by bench/samplers_vs_optuna.py. Lines in:
//   plan YAML-on-one-line   method NAME   ask   ask_many N   tell VALUE
//   report TRIAL VALUE      end TRIAL     promote
// Lines out: {"values": ..., "seconds": ...} for each ask, {"verdict": ...} for each report (a
// trial that is held back is paused then), {"trial": N or null} for promote (it runs again then).
#include "search/propose.h"

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/stopwatch.h"
#include "search/early_stop.h"
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
    } else if (word == "report") {
      report(static_cast<std::size_t>(std::stoll(rest)) - 1,
             std::stod(rest.substr(rest.find(' ') + 1)));
    } else if (word == "end") {
      end(static_cast<std::size_t>(std::stoll(rest)) - 1, TrialState::Finished);
    } else if (word == "promote") {
      promote();
    } else {
      return ask(word == "ask" ? 1 : std::stoll(rest));
    }
    return true;
  }

 private:
  void end(std::size_t index, TrialState state) {
    Trial& trial = trials_.at(index);
    trial.state = state;
    trial.metric = trial.curve.back();
  }

  void report(std::size_t index, double value) {
    trials_.at(index).curve.push_back(value);
    const auto brackets = find_brackets(plan_.early_terminate,
                                        static_cast<std::int64_t>(trials_[index].curve.size()));
    // At a rung a trial is judged once, when it comes there.
    const bool is_at_rung =
        !brackets.empty() &&
        brackets.back() == static_cast<std::int64_t>(trials_[index].curve.size());
    const Verdict verdict = is_at_rung ? judge(plan_, trials_, index).verdict : Verdict::GoOn;
    if (verdict == Verdict::Pause) {
      end(index, TrialState::Paused);
    }
    const char* const word = verdict == Verdict::GoOn ? "go on" : "hold";
    std::cout << nlohmann::json{{"verdict", word}} << std::endl;
  }

  void promote() {
    const auto found = find_promotions(plan_, trials_);
    nlohmann::json answer = {{"trial", nullptr}};
    if (!found.empty()) {
      trials_[found.front()].state = TrialState::Running;
      answer["trial"] = found.front() + 1;
    }
    std::cout << answer << std::endl;
  }

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
