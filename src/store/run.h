// A run as the store knows it: its facts, its attempts, how it is changed and searched for.
// Times are Unix microseconds; 0: not known yet.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/result.h"
#include "store/query.h"

namespace kedge::store {

struct RunKey {
  std::string project;
  std::string id;

  auto operator<=>(const RunKey&) const = default;
};

// Crashed: no sign of life for a while. Preempted: klog says "interrupted". Pending: handed out or
// scheduled, not begun. Stopped: ended by a person.
enum class RunState : std::uint8_t {
  Running,
  Finished,
  Failed,
  Crashed,
  Preempted,
  Pending,
  Stopped
};

std::string_view name_of(RunState state);

// Also knows the run folder's words: interrupted, killed.
std::optional<RunState> parse_run_state(std::string_view name);

// What one curve comes to. Points that a later attempt replaced do not count; one that the same
// attempt logged again at the same step does. NaN is neither min nor max, but may be the last. The
// last is that of the greatest step, then time, then arrival: clients send points in any order.
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
  std::int64_t deleted_us = 0;  // not 0: in the trash
};

struct Run {
  RunFacts facts;
  nlohmann::json config;   // nested; flat ("optimizer.lr": 0.1) where a search named its fields
  nlohmann::json summary;  // key -> {last, min, max, last_step, count}, or {last} when set by hand
  nlohmann::json labels = nlohmann::json::object();  // name -> text
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
  std::optional<std::int64_t> deleted_us = {};  // 0: out of the trash
  // Objects, merged as RFC 7396 does: null removes a key.
  nlohmann::json config = {};
  nlohmann::json summary = {};      // flat: key -> any value
  nlohmann::json labels = {};       // flat: name -> text
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
  std::int64_t id = 0;
  std::string name;
  std::map<std::string, std::string> labels = {};
  std::string artifact_root =
      {};                       // where clients put files themselves; empty: the server keeps them
  std::int64_t created_us = 0;  // 0: before kedge wrote it down
  std::int64_t changed_us = 0;
  std::int64_t deleted_us = 0;  // not 0: in the trash, with its runs
  std::size_t run_count = 0;    // not counting those in the trash, unless the project is there
  std::size_t running_count = 0;
  std::int64_t last_us = 0;  // the newest sign of life of a run
};

struct ProjectDraft {
  std::string name;
  std::map<std::string, std::string> labels = {};
  std::string artifact_root = {};
};

// Only what is given changes.
struct ProjectPatch {
  std::optional<std::string> name = {};
  std::map<std::string, std::optional<std::string>> labels = {};  // nothing: it is removed
  std::optional<std::string> artifact_root = {};
  std::optional<std::int64_t> deleted_us = {};  // its runs follow
};

// Where runs go that name no project. It is there from the start.
inline constexpr std::int64_t kDefaultProject = 0;
inline constexpr std::string_view kDefaultProjectName = "Default";

enum class Shown : std::uint8_t { Active, Trash, All };

struct Search {
  std::vector<std::string> projects = {};  // empty: all
  std::string run = {};                    // not empty: this run alone, as if there were no other
  std::string filter = {};                 // store/query.h
  std::vector<std::string> order = {};  // "-summary.val/accuracy", "created"; default: newest first
  std::size_t limit = 100;
  std::size_t offset = 0;
  // Given: config and summary hold only these, under their flat names ("config.optimizer.lr").
  std::optional<std::vector<std::string>> fields = {};
  Shown shown = Shown::Active;
  // Given: in place of `filter` and `order`, for other query languages.
  std::function<SearchPlan(const QueryKeys&)> plan = {};
};

// One that was found, as it stands in memory: no database is read for it. Names and texts live as
// long as the FoundRun.
class FoundRun {
 public:
  virtual ~FoundRun() = default;
  virtual const RunFacts& facts() const = 0;
  // Under flat names, in no order; lists are JSON text.
  virtual void visit_config(
      const std::function<void(const std::string& name, const QueryValue&)>& visit) const = 0;
  // The metrics, and numbers set by hand, which go before and of which only `last` is sure.
  virtual void visit_summary(
      const std::function<void(const std::string& name, const MetricSummary&)>& visit) const = 0;
  virtual void visit_labels(
      const std::function<void(const std::string& name, std::string_view text)>& visit) const = 0;
};

struct SearchAnswer {
  std::vector<Run> runs;
  std::size_t total = 0;              // that match, on all pages
  std::vector<std::string> warnings;  // names in the filter that no run in `projects` has
};

}  // namespace kedge::store
