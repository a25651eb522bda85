// A sweep whose state a tracking server keeps: agents need nothing in common but its address. Every
// call may be repeated, so that an answer lost with a server that was killed changes nothing; while
// the server is away, calls are Unavailable and what runs goes on.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/file.h"
#include "core/result.h"
#include "sweep/sweep.h"
#include "track/server_link.h"

namespace kedge::sweep {

struct RemotePlace {
  track::ServerAddress address;
  Path dir = "sweeps";  // what trials leave on this machine: <dir>/<id>/trials/<n>/
  Path runs = "runs";
};

class RemoteSweep : public Sweep {
 public:
  static Result<std::unique_ptr<RemoteSweep>> create(const RemotePlace& place,
                                                     const NewSweep& sweep);

  // A copy of a sweep of a folder, under the same id; the one that is there where it was made
  // before. Without its trials.
  static Result<std::unique_ptr<RemoteSweep>> copy(const RemotePlace& place, const Sweep& from,
                                                   const std::string& text);

  // `word` is an id, or project/id. Trials run in the current folder.
  static Result<std::unique_ptr<RemoteSweep>> open(const RemotePlace& place,
                                                   const std::string& word);

  // As the server lists them: id, project, name, method, state, trials, best, created.
  static Result<nlohmann::json> list(const RemotePlace& place);

  std::string place() const override;
  Path trial_path(std::int64_t number) const override;
  Result<Control> read_control() override;
  Result<void> write_control(const Control& control) override;
  Result<std::vector<TrialView>> read_trials() override;
  Result<Claim> claim() override;
  Result<bool> add_result(std::int64_t number, const TrialResult& result) override;
  Result<void> write_progress(std::int64_t number, const std::vector<double>& curve) override;
  Result<void> pause(std::int64_t number) override;
  Result<bool> retry(std::int64_t number) override;
  Result<bool> add_finished(std::int64_t number, const TrialView& view,
                            const std::string& from) override;
  std::optional<TrialResult> find_known(const nlohmann::json& values) override;
  std::vector<std::pair<std::string, std::string>> variables() const override;

 private:
  RemoteSweep(RemotePlace place, track::ServerLink link, SweepFacts facts, search::SweepPlan plan);

  static Result<std::unique_ptr<RemoteSweep>> make(const RemotePlace& place, track::ServerLink link,
                                                   const nlohmann::json& described);
  std::string path(const std::string& rest = {}) const;
  Result<nlohmann::json> act(std::int64_t number, const std::string& what,
                             nlohmann::json body = nlohmann::json::object());
  Result<std::optional<Job>> accept(const nlohmann::json& answer);
  nlohmann::json find_dead() const;

  RemotePlace place_;
  track::ServerLink link_;
  std::string agent_;                                  // who this process is to the server
  nlohmann::json holders_ = nlohmann::json::object();  // of the trials that run, as last read
};

}  // namespace kedge::sweep
