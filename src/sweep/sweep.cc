#include "sweep/sweep.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "core/file.h"
#include "core/hash.h"
#include "core/random.h"
#include "core/result.h"
#include "core/time_text.h"
#include "search/propose.h"
#include "search/sweep_plan.h"
#include "sweep/reuse.h"
#include "sweep/trial_table.h"

namespace kedge::sweep {
namespace {

// 8 letters and digits, as people type them.
std::string make_id() {
  constexpr std::string_view kLetters = "abcdefghijkmnpqrstuvwxyz23456789";
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  Random random({static_cast<std::uint64_t>(now), static_cast<std::uint64_t>(::getpid())});
  std::string id;
  for (int i = 0; i < 8; ++i) {
    id += kLetters[random.below(kLetters.size())];
  }
  return id;
}

bool is_yaml(const Path& path) {
  return path.extension() == ".yaml" || path.extension() == ".yml";
}

constexpr std::array<std::string_view, 4> kSweepStates = {"running", "paused", "stopped",
                                                          "cancelled"};

// Throws nlohmann's exception for a value of another type.
SweepFacts read_facts(const nlohmann::json& json) {
  SweepFacts facts;
  facts.id = json.value("id", "");
  facts.name = json.value("name", "");
  facts.project = json.value("project", "");
  facts.created = json.value("created", "");
  facts.file = json.value("file", "");
  facts.digest = json.value("digest", "");
  facts.program = json.value("program", "");
  facts.code = json.value("code", "");
  facts.data = json.value("data", "");
  facts.folder = json.value("folder", "");
  facts.runs = json.value("runs", "");
  facts.is_config = json.value("is_config", false);
  facts.reuses = json.value("reuses", false);
  const nlohmann::json metric = json.value("metric", nlohmann::json::object());
  facts.metric.name = metric.value("name", "");
  facts.metric.goal =
      metric.value("goal", "") == "maximize" ? search::Goal::Maximize : search::Goal::Minimize;
  facts.overrides = json.value("overrides", std::vector<std::string>());
  return facts;
}

}  // namespace

std::string_view name_of(SweepState state) {
  return kSweepStates.at(static_cast<std::size_t>(state));
}

std::string digest_of(std::string_view text) {
  Digest digest;
  digest.add(text);
  return digest.text();
}

std::optional<SweepState> parse_sweep_state(std::string_view name) {
  const auto found = std::ranges::find(kSweepStates, name);
  return found == kSweepStates.end()
             ? std::nullopt
             : std::optional(static_cast<SweepState>(found - kSweepStates.begin()));
}

TrialResult never_ended() {
  TrialResult result{.state = search::TrialState::Failed};
  result.message = fmt::format("it was begun {} times and never ended", search::kAttemptsMax);
  return result;
}

std::string run_name(const std::string& sweep, std::int64_t number) {
  return fmt::format("{}-{:04}", sweep, number);
}

std::vector<search::Trial> trials_of(const std::vector<TrialView>& views) {
  std::vector<search::Trial> trials;
  trials.reserve(views.size());
  for (const TrialView& view : views) {
    trials.push_back(view.trial);
  }
  return trials;
}

nlohmann::json facts_json(const SweepFacts& facts) {
  return {{"format", "kedge-sweep"},
          {"version", 1},
          {"id", facts.id},
          {"name", facts.name},
          {"project", facts.project},
          {"created", facts.created},
          {"file", facts.file},
          {"digest", facts.digest},
          {"program", facts.program},
          {"code", facts.code},
          {"data", facts.data},
          {"folder", facts.folder.string()},
          {"runs", facts.runs.string()},
          {"is_config", facts.is_config},
          {"reuses", facts.reuses},
          {"overrides", facts.overrides},
          {"metric",
           {{"name", facts.metric.name},
            {"goal", facts.metric.goal == search::Goal::Maximize ? "maximize" : "minimize"}}}};
}

Result<SweepFacts> parse_facts(const nlohmann::json& json, const std::string& where) {
  try {
    if (!json.is_object() || json.value("format", "") != "kedge-sweep") {
      return fail(ErrorKind::Corrupt, fmt::format("{} does not describe a sweep", where));
    }
    return read_facts(json);
  } catch (const nlohmann::json::exception& error) {
    return fail(ErrorKind::Corrupt,
                fmt::format("{} does not describe a sweep: {}", where, error.what()));
  }
}

Result<SweepFacts> make_facts(const NewSweep& sweep, const search::SweepPlan& plan) {
  SweepFacts facts;
  facts.id = make_id();
  facts.name = plan.name;
  facts.project = !sweep.project.empty() ? sweep.project : plan.project;
  facts.created = utc_now();
  facts.file = sweep.is_table ? "sweep.csv" : "sweep.yaml";
  facts.digest = digest_of(sweep.text);
  facts.folder =
      std::filesystem::absolute(sweep.folder.empty() ? "." : sweep.folder).lexically_normal();
  facts.runs = std::filesystem::absolute(sweep.runs).lexically_normal();
  facts.reuses = sweep.reuses;
  facts.metric = sweep.metric;
  facts.overrides = sweep.overrides;
  facts.program = !sweep.config.empty()    ? std::filesystem::absolute(sweep.config).string()
                  : !sweep.program.empty() ? sweep.program
                                           : plan.program;
  facts.is_config = is_yaml(facts.program);
  if (facts.program.empty() && plan.command.empty()) {
    return fail(ErrorKind::Usage,
                fmt::format("{}: nothing to run: 'program' is missing", sweep.file_name),
                "name a script or a kedge config: program: train.py; or pass --config FILE");
  }
  // A command says itself what is run; its program may be a word like `kedge`.
  if (plan.command.empty() && !std::filesystem::exists(facts.folder / facts.program)) {
    return fail(ErrorKind::NotFound, fmt::format("{}: program '{}' is not in {}", sweep.file_name,
                                                 facts.program, facts.folder.string()));
  }
  facts.code = digest_program(facts.folder, facts.program, plan.command);
  facts.data = digest_data(sweep.data);
  return facts;
}

Result<search::SweepPlan> read_plan(const std::string& text, const std::string& where,
                                    bool is_table) {
  auto plan =
      KEDGE_TRY(is_table ? parse_trial_table(text, where) : search::parse_sweep(text, where));
  KEDGE_TRY(search::check_plan(plan));
  return plan;
}

}  // namespace kedge::sweep
