// Sweeps whose trials the server hands out: the sweep file, its state, the agents that ask, and
// which run got which values. What to try next is the search room's business.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

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
  std::string config = {};  // YAML
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
  std::int64_t agent = 0;
  nlohmann::json values = {};
};

class HostedSweeps {
 public:
  explicit HostedSweeps(Store& store) : store_(store) {}

  Result<HostedSweep> create(const HostedSweep& sweep, std::int64_t now_us);
  Result<void> put(const HostedSweep& sweep, std::int64_t now_us);          // by its id
  Result<std::vector<HostedSweep>> list(const std::string& project) const;  // newest first
  Result<std::optional<HostedSweep>> find(const std::string& project,
                                          const std::string& name) const;
  Result<std::optional<HostedSweep>> find(std::int64_t id) const;

  Result<SweepAgent> add_agent(std::int64_t sweep, const std::string& host, std::int64_t now_us);
  Result<std::optional<SweepAgent>> find_agent(std::int64_t id) const;
  Result<std::vector<SweepAgent>> list_agents(std::int64_t sweep) const;
  Result<void> note_agent(std::int64_t id, std::int64_t now_us);

  Result<std::vector<SweepTrial>> list_trials(std::int64_t sweep) const;
  Result<void> add_trial(std::int64_t sweep, const SweepTrial& trial);

 private:
  Store& store_;
};

}  // namespace kedge::store
