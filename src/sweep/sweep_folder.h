// A SweepFolder is a sweep's whole state: small files in a folder that any number of agents share,
// also over NFS. Nothing is locked. A file is made by link(), which has one winner, or replaced by
// rename(); who works on a trial is an attempt with a heartbeat (track/attempt.h), so that a dead
// node keeps nothing. docs/formats/sweep-folder.md is the layout.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/file.h"
#include "core/result.h"
#include "search/hand_out.h"
#include "search/sweep_plan.h"
#include "search/trial.h"
#include "sweep/sweep.h"

namespace kedge::sweep {

class SweepFolder : public Sweep {
 public:
  // Makes sweeps/<id>/ under `dir`. Nothing is left behind when it fails.
  static Result<std::unique_ptr<SweepFolder>> create(const Path& dir, const NewSweep& sweep);

  // `word` is an id under `dir`, a name, or a path. Corrupt when the sweep file was edited since.
  static Result<std::unique_ptr<SweepFolder>> open(const std::string& word, const Path& dir);

  static std::vector<Path> list(const Path& dir);

  const Path& path() const { return path_; }

  std::string place() const override { return path_.string(); }

  Path trial_path(std::int64_t number) const override;

  Result<Control> read_control() override;
  Result<void> write_control(const Control& control) override;

  // Those that cannot be read yet (a file server that is behind) end the list: what was handed out
  // later was handed out by somebody who saw them.
  Result<std::vector<TrialView>> read_trials() override;

  Result<Claim> claim() override;

  // Hands out trial `number`, which must be the next one: false when somebody else did.
  Result<bool> add_trial(std::int64_t number, const nlohmann::json& values);

  Result<bool> add_finished(std::int64_t number, const TrialView& view,
                            const std::string& from) override;
  Result<bool> add_result(std::int64_t number, const TrialResult& result) override;
  Result<void> write_progress(std::int64_t number, const std::vector<double>& curve) override;
  Result<void> pause(std::int64_t number) override;
  Result<bool> retry(std::int64_t number) override;
  std::optional<TrialResult> find_known(const nlohmann::json& values) override;

 private:
  SweepFolder(Path path, SweepFacts facts, search::SweepPlan plan)
      : Sweep(std::move(facts), std::move(plan)), path_(std::move(path)) {}

  std::optional<TrialView> read_trial(std::int64_t number);
  Result<std::optional<Job>> take(const TrialView& view);
  Result<std::optional<Job>> begin(const search::Offer& offer);
  Result<void> promote(std::int64_t number);
  Result<void> give_up(std::int64_t number, Lease& lease);

  Path path_;
  std::map<std::int64_t, nlohmann::json> descriptions_;  // never change
  std::map<std::int64_t, TrialView> finished_;           // nor do these
};

// A file that is not there, or that a file server shows late, is nothing.
std::optional<nlohmann::json> read_json(const Path& path);

}  // namespace kedge::sweep
