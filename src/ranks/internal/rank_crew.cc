#include "ranks/internal/rank_crew.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace kedge::ranks {
namespace {

using Clock = std::chrono::steady_clock;

// After a rank is lost the others fail at their next collective; who does not is killed.
constexpr auto kGrace = std::chrono::seconds(3);

bool is_bad(int code) {
  return code != kExitDone && code != kExitRunMeAgain;
}

}  // namespace

Result<RankListener> listen_for_ranks(bool is_one_machine) {
  OwnedFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(is_one_machine ? INADDR_LOOPBACK : INADDR_ANY);
  socklen_t size = sizeof address;
  constexpr int kBacklog = 1024;
  if (fd.get() < 0 ||
      ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(fd.get(), kBacklog) != 0 ||
      ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return fail(ErrorKind::Io,
                fmt::format("no port for the ranks to meet at: {}", std::strerror(errno)));
  }
  return RankListener{std::move(fd), ntohs(address.sin_port)};
}

std::string describe(const RoundEnd& end) {
  const std::string how = end.exit_code > 128
                              ? fmt::format("was killed by signal {} ({})", end.exit_code - 128,
                                            ::strsignal(end.exit_code - 128))
                              : fmt::format("ended with exit code {}", end.exit_code);
  return fmt::format("rank {} {} at step {}", end.rank, how, std::max<std::int64_t>(end.step, 0));
}

// Ranks that were killed cannot remove it, and those of the next round may lie elsewhere.
void RankCrew::note_memory() {
  for (std::size_t i = 0; i < board_.size(); ++i) {
    if (const std::string folder = board_.slot(i).memory; !folder.empty()) {
      memory_.insert(folder);
    }
  }
}

void RankCrew::clear_memory() const {
  for (const std::string& folder : memory_) {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
    // Those above it are this user's and the run's, where they are empty.
    const Path run = Path(folder).parent_path();
    ::rmdir(run.c_str());
    ::rmdir(run.parent_path().c_str());
  }
}

Result<void> RankCrew::start(const RoundPlan& plan) {
  processes_.clear();
  board_.clear();
  failure_.reset();
  deadline_.reset();
  is_killing_ = false;
  first_rank_ = plan.first_rank;
  std::vector<std::string> command = job_.command;
  if (!plan.run_id.empty() && job_.resume_with) {
    for (std::string& argument : job_.resume_with(plan.run_id)) {
      command.push_back(std::move(argument));
    }
  }
  const auto cores = std::max<std::int64_t>(1, ::sysconf(_SC_NPROCESSORS_ONLN));
  for (std::int64_t local = 0; local < job_.ranks; ++local) {
    const std::int64_t rank = plan.first_rank + local;
    RankStart start{.rank = rank, .command = command, .variables = {}, .inherited = {}};
    start.variables = {{"RANK", std::to_string(rank)},
                       {"WORLD_SIZE", std::to_string(plan.size)},
                       {"LOCAL_RANK", std::to_string(local)},
                       {"LOCAL_WORLD_SIZE", std::to_string(job_.ranks)},
                       {"MASTER_ADDR", plan.host},
                       {"MASTER_PORT", std::to_string(plan.port)},
                       {kIncidentVariable, plan.incident},
                       {kBoardVariable, fmt::format("{}:{}", board_.fd(), local)}};
    if (job_.share_cores && std::getenv("OMP_NUM_THREADS") == nullptr) {
      start.variables.emplace_back("OMP_NUM_THREADS",
                                   std::to_string(std::max<std::int64_t>(1, cores / job_.ranks)));
    }
    start.inherited = {board_.fd()};
    if (rank == 0) {
      start.variables.emplace_back("KEDGE_LISTEN_FD", std::to_string(plan.listen_fd));
      start.inherited.push_back(plan.listen_fd);
    }
    processes_.push_back(KEDGE_TRY(RankProcess::start(start)));
  }
  return {};
}

bool RankCrew::watch(std::chrono::milliseconds wait) {
  std::vector<pollfd> fds;
  for (const RankProcess& process : processes_) {
    fds.push_back({process.output_fd(), POLLIN, 0});
  }
  ::poll(fds.data(), fds.size(), static_cast<int>(wait.count()));
  bool is_over = true;
  for (RankProcess& process : processes_) {
    process.pass_output();
    const std::optional<int> code = process.exit_code();
    is_over = is_over && code;
    if (code && is_bad(*code)) {
      deadline_ = deadline_.value_or(Clock::now() + kGrace);
      note_failure({.exit_code = *code, .rank = process.rank()});
    }
  }
  note_memory();
  if (!is_over && deadline_ && Clock::now() > *deadline_) {
    kill_all();
  }
  return is_over;
}

// Keeps the failure that the others follow from: that of the rank which did not just miss one.
void RankCrew::note_failure(const RoundEnd& end) {
  const auto is_follower = [&](const RoundEnd& one) {
    return board_.slot(static_cast<std::size_t>(one.rank - first_rank_)).phase == RankPhase::Lost;
  };
  if (!is_killing_ && (!failure_ || (is_follower(*failure_) && !is_follower(end)))) {
    failure_ = end;
  }
}

RoundEnd RankCrew::end() {
  RoundEnd end = failure_.value_or(RoundEnd{});
  for (RankProcess& process : processes_) {
    if (!failure_ && process.exit_code() == kExitRunMeAgain) {
      end.exit_code = kExitRunMeAgain;
    }
  }
  for (std::size_t i = 0; i < board_.size(); ++i) {
    end.step = std::max(end.step, board_.slot(i).step.load());
  }
  return end;
}

void RankCrew::send(int signal) {
  for (RankProcess& process : processes_) {
    process.send(signal);
  }
}

void RankCrew::kill_all() {
  is_killing_ = true;
  send(SIGKILL);
}

std::vector<RankView> RankCrew::views(bool with_stacks) {
  std::vector<RankView> views;
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    views.push_back(view_of(board_.slot(i), processes_[i].rank()));
    const bool can_answer = views.back().state == 'R' || views.back().state == 'S';
    if (with_stacks && can_answer) {
      views.back().stack = processes_[i].ask_stack();
    }
  }
  return views;
}

void RankCrew::tell_first(std::string_view note) {
  for (RankProcess& process : processes_) {
    process.tell(note);
  }
}

std::optional<std::chrono::milliseconds> RankCrew::silence() const {
  std::int64_t last_beat_ms = 0;
  for (std::size_t i = 0; i < board_.size(); ++i) {
    const RankSlot& slot = board_.slot(i);
    const RankPhase phase = slot.phase.load();
    // Reading data and making kernels may take long, and who waits for others says so itself.
    if (phase < RankPhase::Data || phase >= RankPhase::Lost) {
      return std::nullopt;
    }
    last_beat_ms = std::max(last_beat_ms, slot.beat_ms.load());
  }
  return std::chrono::milliseconds(monotonic_ms() - last_beat_ms);
}

bool RestartRule::may_restart(const RoundEnd& end) {
  const bool is_further = end.step > furthest_;
  const bool is_same_error = end.exit_code == kExitFailed && end.step == furthest_;
  failures_ = is_further ? 1 : failures_ + 1;
  furthest_ = std::max(furthest_, end.step);
  return failures_ <= restarts_ && !is_same_error;
}

}  // namespace kedge::ranks
