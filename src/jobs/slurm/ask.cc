#include "jobs/slurm/ask.h"

#include "jobs/scheduler_program.h"
#include "jobs/slurm/refusal.h"

namespace kedge::jobs::slurm {

Result<ProcessResult> ask(std::vector<std::string> command) {
  KEDGE_TRY(need_program(command.front(), "Slurm"));
  std::vector<std::string> words = {
      "env", "-u", "SQUEUE_STATES", "-u", "SQUEUE_FORMAT", "TZ=UTC0", "SLURM_TIME_FORMAT=standard"};
  words.insert(words.end(), command.begin(), command.end());
  const ProcessResult answer =
      KEDGE_TRY(run_process({.args = std::move(words), .timeout = kPatience}));
  if (!answer.is_ok()) {
    return std::unexpected(explain_refusal(command.front(), answer));
  }
  return answer;
}

}  // namespace kedge::jobs::slurm
