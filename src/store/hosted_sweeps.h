// Sweeps whose trials the server hands out: the sweep file, its state, the agents that ask, and
// which run got which values. What to try next is the search room's business.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/result.h"
#include "store/store.h"

namespace kedge::store {

enum class SweepState : std::uint8_t { Pending, Running, Paused, Finished, Canceled };

std::string_view name_of(SweepState state);  // "PENDING", ...
std::optional<SweepState> parse_sweep_state(std::string_view name);

struct HostedSweep {
  std::int64_t id = 0;
  std::string project = {};
  std::string name = {};  // 8 letters, unique in its project
  std::string display_name = {};
  std::string description = {};
  std::string config = {};  // YAML, or a table of trials
  std::string facts = {};   // what agents of our own need (JSON); empty: another tool's sweep
  std::string reason = {};  // why it is paused
  SweepState state = SweepState::Pending;
  std::int64_t created_us = 0;
  std::int64_t changed_us = 0;
};

struct SweepAgent {
  std::int64_t id = 0;
  std::int64_t sweep = 0;
  std::string host = {};
  std::int64_t created_us = 0;
  std::int64_t heartbeat_us = 0;
};

struct SweepTrial {
  std::int64_t number = 0;  // from 1, in the order of handing out
  std::string run_id = {};
  std::int64_t agent = 0;  // of sweep_agents; 0: an agent of our own
  nlohmann::json values = {};
  // Of sweeps of our own; for others the run tells.
  std::string holder = {};     // the agent that works on it; empty: nobody
  std::int64_t attempts = 0;   // how often it was begun
  std::int64_t failures = 0;   // results that were set aside for a retry
  bool is_paused = false;      // stopped at a rung
  std::int64_t began_us = 0;   // the newest attempt
  std::int64_t spent_us = 0;   // by the attempts before it
  nlohmann::json result = {};  // null: none yet
  std::string ended_by = {};   // the agent that said so
  nlohmann::json curve = nlohmann::json::array();
};

class HostedSweeps {
 public:
  explicit HostedSweeps(Store& store) : store_(store) {}

  Result<HostedSweep> create(const HostedSweep& sweep, std::int64_t now_us);
  Result<void> put(const HostedSweep& sweep, std::int64_t now_us);          // by its id
  Result<std::vector<HostedSweep>> list(const std::string& project) const;  // newest first
  Result<std::vector<HostedSweep>> list() const;                            // of all projects
  Result<std::optional<HostedSweep>> find(const std::string& project,
                                          const std::string& name) const;
  Result<std::optional<HostedSweep>> find(std::int64_t id) const;

  Result<SweepAgent> add_agent(std::int64_t sweep, const std::string& host, std::int64_t now_us);
  Result<std::optional<SweepAgent>> find_agent(std::int64_t id) const;
  Result<std::vector<SweepAgent>> list_agents(std::int64_t sweep) const;
  Result<void> note_agent(std::int64_t id, std::int64_t now_us);

  Result<std::vector<SweepTrial>> list_trials(std::int64_t sweep) const;
  Result<std::optional<SweepTrial>> find_trial(std::int64_t sweep, std::int64_t number) const;
  Result<void> add_trial(std::int64_t sweep, const SweepTrial& trial);
  // Reads and changes one in one go: nobody comes between. NotFound: there is none. An error of
  // `edit` changes nothing. It may be called again when a commit is tried again.
  Result<void> edit_trial(std::int64_t sweep, std::int64_t number,
                          const std::function<Result<void>(SweepTrial&)>& edit);

 private:
  Store& store_;
};

}  // namespace kedge::store
