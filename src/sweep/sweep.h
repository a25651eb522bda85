// A Sweep as agents and verbs see it, wherever its state is kept: in a folder on a shared file
// system (sweep_folder.h) or on a tracking server (remote_sweep.h). Who works on a trial holds its
// Lease; of many agents exactly one does.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/file.h"
#include "core/result.h"
#include "search/sweep_plan.h"
#include "search/trial.h"
#include "track/attempt.h"

namespace kedge::sweep {

// What is fixed when the sweep is made; sweep.json.
struct SweepFacts {
  std::string id;
  std::string name;
  std::string project;
  std::string created;                 // UTC, ISO 8601
  std::string file;                    // "sweep.yaml" or "sweep.csv", a copy of the user's
  std::string digest;                  // of that file
  std::string program;                 // what is run: a script, a program, a kedge config
  std::string code;                    // digest of the program's file and the command
  std::string data;                    // digest of the data it works on; empty: not known
  Path folder;                         // where the program runs
  Path runs;                           // where its runs are kept
  bool is_config = false;              // the program is a kedge config
  bool reuses = false;                 // identical finished trials of other sweeps count
  search::Metric metric;               // of a table, which has no place for it
  std::vector<std::string> overrides;  // key=value words that every trial's training gets
};

enum class SweepState : std::uint8_t { Running, Paused, Stopped, Cancelled };

std::string_view name_of(SweepState state);

struct Control {
  SweepState state = SweepState::Running;
  std::string reason;
};

// How a trial ended; trials/<n>/result.json.
struct TrialResult {
  search::TrialState state = search::TrialState::Finished;
  std::optional<double> metric = {};
  int exit_code = 0;
  double seconds = 0;
  std::string message = {};  // why it failed or was stopped
  std::string host = {};
  std::string ended = {};
  std::string reused = {};  // "<sweep>/<trial>" where another sweep's result was taken
};

struct TrialView {
  search::Trial trial;
  std::string run;   // the run's id
  int failures = 0;  // results that were set aside for a retry
  std::optional<TrialResult> result = {};
};

struct NewSweep {
  std::string text;            // of the sweep file
  std::string file_name;       // its name, for errors
  bool is_table = false;       // a CSV
  std::string program = {};    // instead of the file's
  search::Metric metric = {};  // of a table
  Path config = {};            // the config that the sweep is a section of, or is for
  std::string project = {};
  Path folder = {};  // where the program runs; empty: here
  Path runs = "runs";
  bool reuses = false;
  std::vector<Path> data = {};              // files and folders that results depend on
  std::vector<std::string> overrides = {};  // for every trial; only where a config is trained
};

class Lease {
 public:
  Lease() = default;
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  virtual ~Lease() = default;  // without end(): as if this process had died

  virtual int number() const = 0;  // 1: the trial is begun for the first time

  // Whether somebody else has the trial now, as far as is known. Cheap.
  virtual bool is_lost() const = 0;

  // What earlier attempts took.
  virtual double spent_before_s() const = 0;

  virtual Result<void> end(track::RunState state) = 0;
};

struct Job {
  TrialView view;
  std::unique_ptr<Lease> lease;
  bool is_promoted = false;
};

struct Claim {
  std::optional<Job> job = {};
  std::string end = {};         // why there is none and will be none; empty: ask again
  std::int64_t open_count = 0;  // trials that others work on
};

class Sweep {
 public:
  Sweep() = default;
  Sweep(const Sweep&) = delete;
  Sweep& operator=(const Sweep&) = delete;
  virtual ~Sweep() = default;

  const SweepFacts& facts() const { return facts_; }

  const search::SweepPlan& plan() const { return plan_; }

  // For people: a folder or an address.
  virtual std::string place() const = 0;

  // Where a trial's files lie on this machine.
  virtual Path trial_path(std::int64_t number) const = 0;

  virtual Result<Control> read_control() = 0;
  virtual Result<void> write_control(const Control& control) = 0;

  // Every trial that was handed out, in order.
  virtual Result<std::vector<TrialView>> read_trials() = 0;

  // A trial to work on: one that nobody alive works on any more, one that has earned its next rung,
  // a new one.
  virtual Result<Claim> claim() = 0;

  // Says how a trial ended: false when that was said before.
  virtual Result<bool> add_result(std::int64_t number, const TrialResult& result) = 0;

  // What a running trial has reported so far, for those who judge it and others.
  virtual Result<void> write_progress(std::int64_t number, const std::vector<double>& curve) = 0;

  // It was stopped at a rung and may be promoted.
  virtual Result<void> pause(std::int64_t number) = 0;

  // Sets the result aside, so that the trial is open again. False: it had none.
  virtual Result<bool> retry(std::int64_t number) = 0;

  // Takes over a trial of another sweep with its result: false when the number was handed out
  // meanwhile.
  virtual Result<bool> add_finished(std::int64_t number, const TrialView& view,
                                    const std::string& from) = 0;

  // The result of a trial elsewhere with the same values, code and data, where facts().reuses.
  virtual std::optional<TrialResult> find_known(const nlohmann::json& values) = 0;

  // What a trial's program must know so that its run is shown where the sweep is.
  virtual std::vector<std::pair<std::string, std::string>> variables() const { return {}; }

 protected:
  Sweep(SweepFacts facts, search::SweepPlan plan)
      : facts_(std::move(facts)), plan_(std::move(plan)) {}

  SweepFacts facts_;
  search::SweepPlan plan_;
};

// Of a trial that was given up.
TrialResult never_ended();

// The id of the run that a trial makes.
std::string run_name(const std::string& sweep, std::int64_t number);

// What the search room sees of them.
std::vector<search::Trial> trials_of(const std::vector<TrialView>& views);

// The plan in a sweep file or table.
Result<search::SweepPlan> read_plan(const std::string& text, const std::string& where,
                                    bool is_table);

// The facts of a new sweep, checked: there is something to run.
Result<SweepFacts> make_facts(const NewSweep& sweep, const search::SweepPlan& plan);

nlohmann::json facts_json(const SweepFacts& facts);
Result<SweepFacts> parse_facts(const nlohmann::json& json, const std::string& where);

std::string digest_of(std::string_view text);

std::optional<SweepState> parse_sweep_state(std::string_view name);

}  // namespace kedge::sweep
