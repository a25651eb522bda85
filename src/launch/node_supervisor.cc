#include "launch/node_supervisor.h"

#include <csignal>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "core/log.h"
#include "core/signals.h"
#include "launch/internal/line_socket.h"
#include "launch/internal/node_host.h"
#include "launch/internal/rank_crew.h"
#include "launch/rank_board.h"

namespace kedge::launch {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kWatch = std::chrono::milliseconds(100);
constexpr auto kBeat = std::chrono::seconds(1);
constexpr auto kDeadAfter = std::chrono::seconds(10);

std::string host_name() {
  std::string name(256, '\0');
  ::gethostname(name.data(), name.size() - 1);
  return name.c_str();
}

// The first machine decides for all. Two supervisors on one machine: the second finds the port
// taken, and is a member.
Result<std::optional<NodeHost>> make_host(const NodeJob& job) {
  const NodePlace& place = job.place;
  if (place.node > 0 || !is_this_machine(place.host)) {
    return std::nullopt;
  }
  auto listener = listen_on(place.port);
  if (!listener && place.node == 0) {
    return std::unexpected(listener.error());
  }
  if (!listener) {
    return std::nullopt;
  }
  return NodeHost(std::move(*listener), {.most = job.most,
                                         .least = job.least,
                                         .restarts = job.ranks.restarts,
                                         .stall = job.ranks.stall,
                                         .patience = job.init_timeout});
}

class Member {
 public:
  Member(const NodeJob& job, RankBoard board, std::optional<NodeHost> host)
      : job_(job), board_(std::move(board)), crew_(job.ranks, board_), host_(std::move(host)) {}

  Result<int> run() {
    KEDGE_TRY(connect());
    while (!over_) {
      const RankListener listener = KEDGE_TRY(listen_for_ranks(false));
      const std::optional<RoundPlan> plan = KEDGE_TRY(wait_for_start(listener));
      if (plan) {
        KEDGE_TRY(crew_.start(*plan));
        KEDGE_TRY(watch_round());
      }
    }
    if (!reason_.empty()) {
      say("{}", reason_);
    }
    return *over_;
  }

 private:
  Result<void> connect() {
    auto socket = LineSocket::connect(job_.place.host, job_.place.port, job_.init_timeout);
    if (!socket) {
      Error error = socket.error();
      error.message = fmt::format("the machines meet at {}:{}, but {} {}", job_.place.host,
                                  job_.place.port, host_name(), error.message);
      return std::unexpected(std::move(error));
    }
    socket_.emplace(std::move(*socket));
    heard_ = Clock::now();
    return {};
  }

  // Nothing: the training is over.
  Result<std::optional<RoundPlan>> wait_for_start(const RankListener& listener) {
    start_.reset();
    end_.reset();
    send_join(listener.port);
    while (!start_ && !over_) {
      crew_.watch(kWatch);
      KEDGE_TRY(talk());
      if (!socket_->is_open()) {
        say("{} has lost the first machine ({}:{}); trying to reach it again", host_name(),
            job_.place.host, job_.place.port);
        KEDGE_TRY(connect());
        send_join(listener.port);
      }
      if (signals_.requested()) {
        return fail(
            ErrorKind::Interrupted,
            fmt::format("{}: stopped while waiting for the other machines", signals_.name()));
      }
    }
    if (!start_) {
      return std::nullopt;
    }
    start_->listen_fd = start_->first_rank == 0 ? listener.fd.get() : -1;
    return start_;
  }

  void send_join(int port) {
    socket_->send({{"join",
                    {{"host", host_name()},
                     {"address", job_.place.host},
                     {"ranks", job_.ranks.ranks},
                     {"port", port}}}});
  }

  // One round, until this machine's ranks have ended and the first machine knows what to do next.
  Result<void> watch_round() {
    bool is_reported = false;
    bool is_told = false;
    for (bool is_over = false; !(is_over && (end_ || over_ || !socket_->is_open()));) {
      is_over = crew_.watch(kWatch);
      KEDGE_TRY(talk());
      if (signals_.requested() && !std::exchange(is_told, true)) {
        crew_.send(*signals_.requested() == SIGINT ? SIGTERM : *signals_.requested());
      }
      if (!socket_->is_open() && !is_over) {
        crew_.kill_all();
      }
      if (is_over && !end_ && !std::exchange(is_reported, true)) {
        const RoundEnd end = crew_.end();
        socket_->send({{end.is_lasting() && end.exit_code != kExitUsage ? "done" : "failed",
                        {{"exit_code", end.exit_code}, {"rank", end.rank}, {"step", end.step}}}});
      }
    }
    return {};
  }

  Result<void> talk() {
    if (host_) {
      host_->look();
    }
    for (const nlohmann::json& message : socket_->receive()) {
      heard_ = Clock::now();
      hear(message);
    }
    if (Clock::now() - heard_ > kDeadAfter) {
      socket_->close();
    }
    if (Clock::now() - spoken_ > kBeat) {
      spoken_ = Clock::now();
      send_beat();
    }
    return {};
  }

  void hear(const nlohmann::json& message) {
    if (message.contains("start")) {
      const nlohmann::json& plan = message.at("start");
      start_ = RoundPlan{.first_rank = plan.at("first_rank"),
                         .size = plan.at("size"),
                         .host = plan.at("host"),
                         .port = plan.at("port"),
                         .run_id = plan.at("run_id"),
                         .incident = plan.at("incident")};
    } else if (message.contains("end")) {
      end_ = message.at("end").at("reason").get<std::string>();
      if (message.at("end").at("is_gentle").get<bool>()) {
        crew_.send(SIGTERM);  // they save first
      } else {
        crew_.kill_all();
      }
    } else if (message.contains("over")) {
      over_ = message.at("over").at("exit_code").get<int>();
      reason_ = message.at("over").at("reason").get<std::string>();
      crew_.kill_all();
    }
  }

  void send_beat() {
    const auto silence = crew_.silence();
    const bool is_hanging = silence && *silence >= job_.ranks.stall;
    nlohmann::json views = nlohmann::json::array();
    // Stacks are asked for once a hang: the ranks should not be busy with answers.
    for (const RankView& view : crew_.views(is_hanging && !is_hanging_)) {
      views.push_back(to_json(view));
    }
    is_hanging_ = is_hanging;
    nlohmann::json beat = {{"views", std::move(views)}};
    if (const std::string id = crew_.run_id(); !id.empty()) {
      beat["run_id"] = id;
    }
    socket_->send(beat);
  }

  const NodeJob& job_;
  const StopSignals signals_;
  RankBoard board_;
  RankCrew crew_;
  std::optional<NodeHost> host_;
  std::optional<LineSocket> socket_;
  Clock::time_point heard_ = Clock::now();
  Clock::time_point spoken_ = {};
  bool is_hanging_ = false;
  std::optional<RoundPlan> start_;
  std::optional<std::string> end_;  // why the round ends
  std::optional<int> over_;
  std::string reason_;
};

}  // namespace

Result<int> supervise_node(const NodeJob& job) {
  auto board = KEDGE_TRY(RankBoard::create(static_cast<std::size_t>(job.ranks.ranks)));
  auto host = KEDGE_TRY(make_host(job));
  return Member(job, std::move(board), std::move(host)).run();
}

}  // namespace kedge::launch
