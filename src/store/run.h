// A run as the store knows it: its facts, its attempts, how it is changed and searched for.
// Times are Unix microseconds; 0: not known yet.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/result.h"

namespace kedge::store {

struct RunKey {
  std::string project;
  std::string id;

  auto operator<=>(const RunKey&) const = default;
};

// Crashed: no sign of life for a while. Preempted: klog says "interrupted".
enum class RunState : std::uint8_t { Running, Finished, Failed, Crashed, Preempted };

std::string_view name_of(RunState state);

// Also knows the run folder's words: interrupted, killed.
std::optional<RunState> parse_run_state(std::string_view name);

// What one curve comes to. Points that a later attempt replaced do not count; one that the same
// attempt logged again at the same step does. NaN is neither min nor max, but may be the last.
struct MetricSummary {
  double last = std::numeric_limits<double>::quiet_NaN();
  double min = std::numeric_limits<double>::quiet_NaN();
  double max = std::numeric_limits<double>::quiet_NaN();
  std::int64_t last_step = 0;
  std::uint64_t count = 0;
  std::int64_t first_us = 0;
  std::int64_t last_us = 0;
};

struct RunFacts {
  std::string project;
  std::string id;
  std::string name;
  RunState state = RunState::Running;
  std::int64_t created_us = 0;
  std::int64_t ended_us = 0;
  std::int64_t heartbeat_us = 0;  // by the server's clock
  std::string user;
  std::string host;
  std::string group;
  std::string job_type;
  std::string notes;
  std::vector<std::string> tags;
  std::string source = "kedge";  // or wandb, mlflow, ...
  int attempt = 1;               // the newest
  std::optional<std::int64_t> last_step = {};
  std::string parent;
  std::string sweep;
  std::string config_hash;
};

struct Run {
  RunFacts facts;
  nlohmann::json config;   // nested; flat ("optimizer.lr": 0.1) where a search named its fields
  nlohmann::json summary;  // key -> {last, min, max, last_step, count}, or {last} when set by hand
};

// As the API shows it: one flat object of the facts with config and summary.
nlohmann::json render_run(const Run& run);

// JSON has no NaN and infinities: they become "NaN", "Infinity" and "-Infinity".
nlohmann::json render_number(double value);

// Only what is given changes.
struct RunPatch {
  std::optional<std::string> name = {};
  std::optional<RunState> state = {};
  std::optional<std::int64_t> created_us = {};
  std::optional<std::int64_t> ended_us = {};
  std::optional<std::string> user = {};
  std::optional<std::string> host = {};
  std::optional<std::string> group = {};
  std::optional<std::string> job_type = {};
  std::optional<std::string> notes = {};
  std::optional<std::vector<std::string>> tags = {};
  std::optional<std::string> source = {};
  std::optional<std::string> parent = {};
  std::optional<std::string> sweep = {};
  std::optional<std::string> config_hash = {};
  // Objects, merged as RFC 7396 does: null removes a key.
  nlohmann::json config = {};
  nlohmann::json summary = {};      // flat: key -> any value
  nlohmann::json environment = {};  // replaced, not merged
};

// Reads an object with the API's names. Usage, naming the field, when one has a wrong type or is
// not known.
Result<RunPatch> parse_patch(const nlohmann::json& json);

struct Attempt {
  int number = 1;
  std::string host;
  std::int64_t started_us = 0;
  std::int64_t ended_us = 0;
  std::string state = "running";  // running, finished, failed, interrupted, killed
  std::optional<std::int64_t> from_step = {};
  nlohmann::json changes = nlohmann::json::array();  // of the config: key, before, after
};

struct Project {
  std::string name;
  std::size_t run_count = 0;
  std::size_t running_count = 0;
  std::int64_t last_us = 0;  // the newest sign of life of a run
};

struct Search {
  std::string project = {};             // empty: all
  std::string filter = {};              // store/query.h
  std::vector<std::string> order = {};  // "-summary.val/accuracy", "created"; default: newest first
  std::size_t limit = 100;
  std::size_t offset = 0;
  // Given: config and summary hold only these, under their flat names ("config.optimizer.lr").
  std::optional<std::vector<std::string>> fields = {};
};

struct SearchAnswer {
  std::vector<Run> runs;
  std::size_t total = 0;              // that match, on all pages
  std::vector<std::string> warnings;  // names in the filter that no run has
};

}  // namespace kedge::store
