#include <algorithm>
#include <cstdint>
#include <string>

#include <fcntl.h>
#include <unistd.h>

#include "cli/shared/arguments.h"
#include "cli/sweep.h"
#include "cli/verbs.h"
#include "core/file.h"
#include "core/result.h"
#include "core/units.h"
#include "jobs/local/supervisor.h"
#include "jobs/task_run.h"
#include "jobs/task_share.h"

namespace kedge::cli {
namespace {

const VerbHelp kTaskHelp = {
    .usage = "kedge task [options] -- PROGRAM [ARGS ...]",
    .text =
        "What runs inside a job, around its program: `kedge submit` writes it into the job's "
        "script.\nSignals and the exit code are passed on; helpers that the program leaves behind "
        "end with it;\n{task} and {item} in its words are those of the array's task.",
    .flags = {{"--stamp", "", "put time and host before each line, and stars for secrets"},
              {"--resumable", "",
               "stopped at a time limit, or told to stop, it is to be run again: exit code 85"},
              {"--limit", "TIME", "stop the program after this long: exit code 124, or 85"},
              {"--grace", "TIME", "stop it so long before the scheduler's limit (2m)"},
              {"--share", "N", "run N tasks of an array in this one (kedge submit --per-gpu)"},
              {"--of", "N", "how many tasks that array has"},
              {"--each", "N", "what --share starts: the tasks themselves"},
              {"--supervise", "FOLDER", "run a local job of the job book to its end"},
              {"--submission", "N", "which submission of that job (1)"}}};

// The shell that submitted the job must not wait for us any longer, nor end us when it ends.
void let_go_of_terminal(const Path& log) {
  const OwnedFd output(::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  const OwnedFd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const int errors = output.get() >= 0 ? output.get() : nothing.get();
  ::dup2(nothing.get(), STDIN_FILENO);
  ::dup2(errors, STDOUT_FILENO);
  ::dup2(errors, STDERR_FILENO);
}

Result<void> supervise(const Arguments& arguments) {
  const Path folder = arguments.value("--supervise");
  const std::int64_t submission = KEDGE_TRY(arguments.number("--submission", 1));
  return jobs::local::supervise_submission(
      folder, submission, [&] { let_go_of_terminal(folder / "logs" / "supervisor.log"); });
}

Result<jobs::TaskRun> task_of(const Arguments& arguments, Args command) {
  return jobs::TaskRun{.command = {command.begin(), command.end()},
                       .is_stamped = arguments.has("--stamp"),
                       .is_resumable = arguments.has("--resumable"),
                       .grace = KEDGE_TRY(parse_seconds(arguments.value("--grace", "0"))),
                       .limit = KEDGE_TRY(parse_seconds(arguments.value("--limit", "0"))),
                       .share = KEDGE_TRY(arguments.number("--share", 0)),
                       .total = KEDGE_TRY(arguments.number("--of", 0))};
}

Result<int> run_task_program(const Arguments& arguments, Args command) {
  if (arguments.has("--each")) {
    return jobs::run_shared({.command = {command.begin(), command.end()},
                             .count = KEDGE_TRY(arguments.number("--each", 0)),
                             .total = KEDGE_TRY(arguments.number("--of", 0))},
                            own_program());
  }
  const jobs::TaskRun task = KEDGE_TRY(task_of(arguments, command));
  const HeldSignals signals;
  return jobs::run_task(task, signals);
}

}  // namespace

int run_task(Args args) {
  const auto end = std::ranges::find(args, "--");
  const auto arguments = parse_or_help(Args(args.begin(), end), kTaskHelp);
  if (!arguments) {
    return report(arguments.error());
  }
  if (!*arguments) {
    return kExitDone;
  }
  if ((*arguments)->has("--supervise")) {
    const auto done = supervise(**arguments);
    return done ? kExitDone : report(done.error());
  }
  const Args command = end == args.end() ? Args() : Args(end + 1, args.end());
  if (command.empty()) {
    return report({ErrorKind::Usage, "task needs a program behind --",
                   "for example: kedge task --limit 4h --resumable -- python train.py"});
  }
  const auto exit_code = run_task_program(**arguments, command);
  if (!exit_code) {
    const int code = report(exit_code.error());
    const bool is_missing = exit_code.error().kind == ErrorKind::NotFound;
    return code == kExitUsage ? code : is_missing ? kExitNoProgram : kExitCannotStart;
  }
  return *exit_code;
}

}  // namespace kedge::cli
