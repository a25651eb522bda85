// A SweepFolder is a sweep's whole state: small files in a folder that any number of agents share,
// also over NFS. Nothing is locked. A file is made by link(), which has one winner, or replaced by
// rename(); who works on a trial is an attempt with a heartbeat (track/attempt.h), so that a dead
// node keeps nothing. docs/formats/sweep-folder.md is the layout.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/file.h"
#include "core/result.h"
#include "search/sweep_plan.h"
#include "search/trial.h"

namespace kedge::sweep {

// What is fixed when the sweep is made; sweep.json.
struct SweepFacts {
  std::string id;
  std::string name;
  std::string project;
  std::string created;     // UTC, ISO 8601
  std::string file;        // "sweep.yaml" or "sweep.csv", a copy of the user's
  std::string digest;      // of that file
  std::string program;     // what is run: a script, a program, a kedge config
  std::string code;        // digest of the program's file and the command
  Path folder;             // where the program runs
  Path runs;               // where its runs are kept
  bool is_config = false;  // the program is a kedge config
  bool reuses = false;     // identical finished trials of other sweeps count
  search::Metric metric;   // of a table, which has no place for it
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
  int attempts = 0;  // how often it was begun
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
};

class SweepFolder {
 public:
  // Makes sweeps/<id>/ under `dir`. Nothing is left behind when it fails.
  static Result<SweepFolder> create(const Path& dir, const NewSweep& sweep);

  // `word` is an id under `dir`, a name, or a path. Corrupt when the sweep file was edited since.
  static Result<SweepFolder> open(const std::string& word, const Path& dir);

  static std::vector<Path> list(const Path& dir);

  const SweepFacts& facts() const { return facts_; }

  const search::SweepPlan& plan() const { return plan_; }

  const Path& path() const { return path_; }

  Path trial_path(std::int64_t number) const;

  Result<Control> read_control() const;
  Result<void> write_control(const Control& control) const;

  // Every trial that was handed out, in order. Those that cannot be read yet (a file server that
  // is behind) end the list: what was handed out later was handed out by somebody who saw them.
  Result<std::vector<TrialView>> read_trials();

  // Hands out trial `number`, which must be the next one: false when somebody else did.
  Result<bool> add_trial(std::int64_t number, const nlohmann::json& values);

  // Takes over a finished trial of another sweep: false when the number was handed out meanwhile.
  Result<bool> add_finished(std::int64_t number, const TrialView& view, const std::string& from);

  // Says how a trial ended: false when that was said before.
  Result<bool> add_result(std::int64_t number, const TrialResult& result) const;

  // What a running trial has reported so far, for those who judge it and others.
  Result<void> write_progress(std::int64_t number, const std::vector<double>& curve) const;

  Result<void> set_paused(std::int64_t number, bool is_paused) const;

  // Sets the result aside, so that the trial is open again. False: it had none.
  Result<bool> retry(std::int64_t number) const;

 private:
  SweepFolder(Path path, SweepFacts facts, search::SweepPlan plan)
      : path_(std::move(path)), facts_(std::move(facts)), plan_(std::move(plan)) {}

  std::optional<TrialView> read_trial(std::int64_t number);

  Path path_;
  SweepFacts facts_;
  search::SweepPlan plan_;
  std::map<std::int64_t, nlohmann::json> descriptions_;  // never change
  std::map<std::int64_t, TrialView> finished_;           // nor do these
};

// The plan in a sweep file or table.
Result<search::SweepPlan> read_plan(const std::string& text, const std::string& where,
                                    bool is_table);

// A file that is not there, or that a file server shows late, is nothing.
std::optional<nlohmann::json> read_json(const Path& path);

std::string utc_now();

}  // namespace kedge::sweep
