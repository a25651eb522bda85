#include "sweep/trial_files.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/file.h"
#include "search/trial.h"
#include "sweep/sweep_folder.h"

namespace kedge::sweep {
namespace {

constexpr std::array<std::string_view, 6> kTrialStates = {"waiting",  "running", "paused",
                                                          "finished", "stopped", "failed"};

// JSON has no NaN: a diverged training's is null with a mark.
std::optional<double> find_number(const nlohmann::json& json, const char* key) {
  const auto found = json.is_object() ? json.find(key) : json.end();
  if (found == json.end()) {
    return std::nullopt;
  }
  return found->is_number() ? found->get<double>() : std::numeric_limits<double>::quiet_NaN();
}

// A file or an answer may hold anything: what is of another type counts as missing.
const nlohmann::json& member_in(const nlohmann::json& json, const char* key) {
  static const nlohmann::json kNothing;
  const auto found = json.is_object() ? json.find(key) : json.end();
  return found == json.end() ? kNothing : *found;
}

std::string text_in(const nlohmann::json& json, const char* key) {
  const nlohmann::json& member = member_in(json, key);
  return member.is_string() ? member.get<std::string>() : "";
}

template <typename Integer>
Integer integer_in(const nlohmann::json& json, const char* key) {
  const nlohmann::json& member = member_in(json, key);
  return member.is_number_integer() ? member.get<Integer>() : Integer{0};
}

nlohmann::json values_in(const nlohmann::json& json) {
  const nlohmann::json& member = member_in(json, "values");
  return member.is_object() ? member : nlohmann::json::object();
}

void count_files(const Path& folder, TrialView& view) {
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    view.failures += entry->path().filename().string().starts_with("result-") ? 1 : 0;
  }
  std::filesystem::directory_iterator attempt(folder / "attempts", error);
  for (; !error && attempt != std::filesystem::directory_iterator(); attempt.increment(error)) {
    view.trial.attempts += attempt->path().filename().string().starts_with('.') ? 0 : 1;
  }
}

}  // namespace

std::string_view name_of(search::TrialState state) {
  return kTrialStates.at(static_cast<std::size_t>(state));
}

nlohmann::json result_json(const TrialResult& result) {
  nlohmann::json json = {{"state", name_of(result.state)},
                         {"exit_code", result.exit_code},
                         {"seconds", result.seconds},
                         {"host", result.host},
                         {"ended", result.ended}};
  if (result.metric) {
    json["metric"] = *result.metric;
  }
  if (!result.message.empty()) {
    json["message"] = result.message;
  }
  if (!result.reused.empty()) {
    json["reused"] = result.reused;
  }
  return json;
}

TrialResult parse_result(const nlohmann::json& json) {
  TrialResult result;
  const auto found = std::ranges::find(kTrialStates, text_in(json, "state"));
  result.state = found == kTrialStates.end()
                     ? search::TrialState::Failed
                     : static_cast<search::TrialState>(found - kTrialStates.begin());
  result.metric = find_number(json, "metric");
  result.exit_code = integer_in<int>(json, "exit_code");
  const nlohmann::json& seconds = member_in(json, "seconds");
  result.seconds = seconds.is_number() ? seconds.get<double>() : 0;
  result.message = text_in(json, "message");
  result.host = text_in(json, "host");
  result.ended = text_in(json, "ended");
  result.reused = text_in(json, "reused");
  return result;
}

std::vector<double> parse_curve(const nlohmann::json& json) {
  std::vector<double> curve;
  for (const nlohmann::json& value : json.is_array() ? json : nlohmann::json::array()) {
    curve.push_back(value.is_number() ? value.get<double>()
                                      : std::numeric_limits<double>::quiet_NaN());
  }
  return curve;
}

nlohmann::json render_trial(const TrialView& view) {
  nlohmann::json json = {{"number", view.trial.number},     {"state", name_of(view.trial.state)},
                         {"values", view.trial.values},     {"run", view.run},
                         {"attempts", view.trial.attempts}, {"failures", view.failures},
                         {"curve", view.trial.curve}};
  json["metric"] = view.trial.metric ? nlohmann::json(*view.trial.metric) : nlohmann::json();
  json["result"] = view.result ? result_json(*view.result) : nlohmann::json();
  return json;
}

TrialView parse_trial(const nlohmann::json& json) {
  TrialView view;
  view.trial.number = integer_in<std::int64_t>(json, "number");
  view.trial.values = values_in(json);
  view.trial.curve = parse_curve(member_in(json, "curve"));
  view.run = text_in(json, "run");
  view.trial.attempts = integer_in<int>(json, "attempts");
  view.failures = integer_in<int>(json, "failures");
  if (const nlohmann::json& result = member_in(json, "result"); result.is_object()) {
    view.result = parse_result(result);
  }
  conclude_state(view, text_in(json, "state") == "paused");
  return view;
}

void conclude_state(TrialView& view, bool is_paused) {
  if (view.result) {
    view.trial.state = view.result->state;
    view.trial.metric = view.result->metric;
  } else if (is_paused) {
    view.trial.state = search::TrialState::Paused;
    if (!view.trial.curve.empty()) {
      view.trial.metric = view.trial.curve.back();
    }
  } else {
    view.trial.state =
        view.trial.attempts > 0 ? search::TrialState::Running : search::TrialState::Waiting;
  }
}

TrialView view_of(const nlohmann::json& description, const Path& folder) {
  TrialView view;
  view.trial.values = values_in(description);
  view.run = text_in(description, "run");
  count_files(folder, view);
  if (const auto progress = read_json(folder / "progress.json")) {
    view.trial.curve = parse_curve(member_in(*progress, "curve"));
  }
  const auto own = description.find("result");  // of a trial taken over from another sweep
  const auto json =
      own != description.end() ? std::optional(*own) : read_json(folder / "result.json");
  if (json) {
    view.result = parse_result(*json);
  }
  conclude_state(view, !json && std::filesystem::exists(folder / "paused.json"));
  return view;
}

}  // namespace kedge::sweep
