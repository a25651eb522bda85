#include "sweep/local_agents.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/result.h"
#include "core/supervise.h"
#include "sweep/sweep.h"

namespace kedge::sweep {
namespace {

Result<pid_t> start_agent(std::vector<std::string> words, const HeldSignals& signals) {
  std::vector<char*> args;
  for (std::string& word : words) {
    args.push_back(word.data());
  }
  args.push_back(nullptr);
  const pid_t child = ::fork();
  if (child < 0) {
    return fail(ErrorKind::Io, fmt::format("cannot start an agent: {}", std::strerror(errno)));
  }
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    ::pthread_sigmask(SIG_SETMASK, &signals.before(), nullptr);
    ::execv(args.front(), args.data());
    ::_exit(126);
  }
  return child;
}

}  // namespace

Result<int> run_local_agents(const std::vector<std::string>& words, std::int64_t count,
                             const HeldSignals& signals) {
  std::vector<pid_t> agents;
  for (std::int64_t i = 0; i < count; ++i) {
    agents.push_back(KEDGE_TRY(start_agent(words, signals)));
  }
  int worst = 0;
  while (!agents.empty()) {
    siginfo_t info{};
    const timespec patience{.tv_sec = 1, .tv_nsec = 0};
    const int number = ::sigtimedwait(&signals.held(), &info, &patience);
    // A terminal has told the agents already.
    if (number > 0 && number != SIGCHLD && number != SIGWINCH && info.si_code != SI_KERNEL) {
      for (const pid_t agent : agents) {
        ::kill(agent, number);
      }
    }
    std::erase_if(agents, [&](pid_t agent) {
      int status = 0;
      if (::waitpid(agent, &status, WNOHANG) != agent) {
        return false;
      }
      worst = std::max(worst, WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
      return true;
    });
  }
  return worst;
}

}  // namespace kedge::sweep
