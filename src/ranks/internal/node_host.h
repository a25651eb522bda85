// The supervisors of several machines agree through this one, on the first machine: who takes part
// in a round, who is rank 0, when a round is over and why. A machine that is silent is left out.
//
// Messages of a machine: join {host, ranks, port}, beat {views}, failed {exit_code, rank, step},
// done {exit_code, step}. Messages to it: start {first_rank, size, host, port, run_id, incident,
// heirs: addresses of the machines that decide after this one, in order; heir: its place there or
// -1}, end {reason, is_gentle}, note (for the run's log), over {exit_code, reason}, beat.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/file.h"
#include "ranks/internal/line_socket.h"
#include "ranks/internal/rank_crew.h"
#include "ranks/rank_report.h"

namespace kedge::ranks {

// So often both sides say that they are there.
inline constexpr auto kBeat = std::chrono::seconds(1);

struct NodeHostOptions {
  std::int64_t most = 1;   // machines
  std::int64_t least = 1;  // to go on with
  std::int64_t restarts = 3;
  std::chrono::milliseconds stall = std::chrono::seconds(20);
  // How long to wait for more machines once there are enough, and for a silent one.
  std::chrono::milliseconds gather = std::chrono::seconds(15);
  std::chrono::milliseconds dead_after = std::chrono::seconds(10);
  // How long to wait for the least number of machines before giving up.
  std::chrono::milliseconds patience = std::chrono::minutes(2);
  std::string self = {};      // this machine's name, as it joins
  std::string incident = {};  // why this machine decides now, where another one did before
};

class NodeHost {
 public:
  NodeHost(OwnedFd listener, NodeHostOptions options);

  // Reads what has come and decides; called often. Never waits.
  void look();

 private:
  using Clock = std::chrono::steady_clock;

  enum class Part : std::uint8_t { Waiting, Running, Ending, Done };

  struct Node {
    LineSocket socket;
    std::string host = {};
    std::string address = {};
    std::int64_t ranks = 0;
    int port = 0;
    Part part = Part::Ending;  // until it has joined
    Clock::time_point heard = Clock::now();
    std::vector<RankView> views = {};
    RoundEnd end = {};
  };

  void hear(Node& node, const nlohmann::json& message);
  void join(Node& node, const nlohmann::json& facts);
  void drop_silent();
  void begin_when_ready();
  void begin();
  void end_round(const std::string& reason, bool is_gentle);
  void fail_round(const Node& node, const RoundEnd& end, const std::string& what);
  void finish(int exit_code, const std::string& reason);
  void finish_when_done();
  void look_for_hang();
  std::vector<Node*> nodes_in(Part part);

  OwnedFd listener_;
  NodeHostOptions options_;
  RestartRule rule_;
  std::vector<Node> nodes_;
  std::map<std::string, int> bad_;  // failures of a machine
  bool is_running_ = false;
  bool is_over_ = false;
  std::int64_t rounds_ = 0;
  Clock::time_point changed_ = Clock::now();  // when the machines that wait last changed
  Clock::time_point spoken_ = {};             // last sign of life to the others
  std::string incident_;
  std::string run_id_;
  bool is_hang_told_ = false;
  std::string hang_;  // the report of this round's
};

nlohmann::json to_json(const RankView& view);
RankView parse_view(const nlohmann::json& json, const std::string& host);

}  // namespace kedge::ranks
