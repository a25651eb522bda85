#include "ranks/node_supervisor.h"

#include <csignal>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/host_name.h"
#include "core/log.h"
#include "core/signals.h"
#include "ranks/internal/line_socket.h"
#include "ranks/internal/node_host.h"
#include "ranks/internal/rank_crew.h"
#include "ranks/rank_board.h"

namespace kedge::ranks {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kNodeWatch = std::chrono::milliseconds(100);
constexpr auto kDeadAfter = std::chrono::seconds(10);

NodeHost open_host(const NodeJob& job, OwnedFd listener, const std::string& incident) {
  return {std::move(listener),
          {.most = job.most,
           .least = job.least,
           .restarts = job.ranks.restarts,
           .stall = job.ranks.stall,
           .patience = job.init_timeout,
           .self = host_name(),
           .incident = incident}};
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
  return open_host(job, std::move(*listener), "");
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

  void clear_memory() const { crew_.clear_memory(); }

 private:
  Result<void> connect() {
    auto socket = LineSocket::connect(job_.place.host, job_.place.port, job_.init_timeout);
    if (!socket) {
      Error error = socket.error();
      error.message = fmt::format("the machines meet at {}:{}, but {} {}", job_.place.host,
                                  job_.place.port, host_name(), error.message);
      return std::unexpected(std::move(error));
    }
    take_socket(std::move(*socket));
    return {};
  }

  // Whether the others could go on without the first machine.
  bool has_heirs() const { return std::ssize(heirs_) >= job_.least && heir_ >= 0; }

  // The machines that decide after the first one are tried in their order; when it is this one's
  // turn, it decides.
  Result<void> connect_again() {
    say("{} has lost the first machine ({}:{}); trying to reach it again", host_name(),
        job_.place.host, job_.place.port);
    if (!has_heirs()) {
      return connect();
    }
    for (std::int64_t i = -1; i < heir_; ++i) {
      const std::string& address = i < 0 ? job_.place.host : heirs_[static_cast<std::size_t>(i)];
      // Whoever is before us needs the time to find out the same.
      if (auto socket = LineSocket::connect(address, job_.place.port, (i + 2) * kDeadAfter)) {
        take_socket(std::move(*socket));
        return {};
      }
    }
    const std::string incident =
        fmt::format("the first machine ({}) is lost; {} decides now", job_.place.host, host_name());
    say("{}", incident);
    host_.emplace(open_host(job_, KEDGE_TRY(listen_on(job_.place.port)), incident));
    take_socket(KEDGE_TRY(LineSocket::connect("127.0.0.1", job_.place.port, job_.init_timeout)));
    return {};
  }

  // Two must not decide: who took over steps back when the first machine can be reached again
  // before a round has begun.
  void look_for_the_first() {
    constexpr auto kEvery = std::chrono::seconds(5);
    constexpr auto kTry = std::chrono::milliseconds(200);
    if (!host_ || heir_ < 0 || Clock::now() - looked_ < kEvery) {
      return;
    }
    looked_ = Clock::now();
    if (LineSocket::connect(job_.place.host, job_.place.port, kTry)) {
      say("the first machine is back; {} steps back", host_name());
      host_.reset();
      heir_ = -1;
      socket_->close();
    }
  }

  void take_socket(LineSocket socket) {
    socket_.emplace(std::move(socket));
    heard_ = Clock::now();
  }

  // Nothing: the training is over.
  Result<std::optional<RoundPlan>> wait_for_start(const RankListener& listener) {
    start_.reset();
    end_.reset();
    send_join(listener.port);
    while (!start_ && !over_) {
      crew_.watch(kNodeWatch);
      KEDGE_TRY(talk());
      if (!socket_->is_open()) {
        KEDGE_TRY(connect_again());
        send_join(listener.port);
      }
      look_for_the_first();
      if (!socket_->is_open()) {
        continue;
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
    const bool has_taken_over = host_ && heir_ >= 0;
    const std::string& address =
        has_taken_over ? heirs_[static_cast<std::size_t>(heir_)] : job_.place.host;
    socket_->send({{"join",
                    {{"host", host_name()},
                     {"address", address},
                     {"ranks", job_.ranks.ranks},
                     {"port", port}}}});
  }

  // One round, until this machine's ranks have ended and the first machine knows what to do next.
  Result<void> watch_round() {
    bool is_reported = false;
    bool is_told = false;
    for (bool is_over = false; !(is_over && (end_ || over_ || !socket_->is_open()));) {
      is_over = crew_.watch(kNodeWatch);
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
      // Who has taken over keeps to what the first machine had said.
      if (!host_ || heir_ < 0) {
        plan.at("heirs").get_to(heirs_);
        plan.at("heir").get_to(heir_);
      }
    } else if (message.contains("end")) {
      end_ = message.at("end").at("reason").get<std::string>();
      if (message.at("end").at("is_gentle").get<bool>()) {
        crew_.send(SIGTERM);  // they save first
      } else {
        crew_.kill_all();
      }
    } else if (message.contains("note")) {
      crew_.tell_first(message.at("note").get<std::string>());
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
  Clock::time_point looked_ = {};
  std::vector<std::string> heirs_;  // as the machine that decides has said
  std::int64_t heir_ = -1;          // this machine's place among them; -1: it is none
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
  Member member(job, std::move(board), std::move(host));
  const Result<int> code = member.run();
  member.clear_memory();
  return code;
}

}  // namespace kedge::ranks
