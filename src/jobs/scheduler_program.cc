#include "jobs/scheduler_program.h"

#include <fmt/format.h>

#include "core/process.h"

namespace kedge::jobs {

Result<void> need_program(std::string_view program, std::string_view scheduler) {
  if (find_program(program)) {
    return {};
  }
  return fail(
      ErrorKind::Usage,
      fmt::format("this machine has no {}: it is no login node of {}", program, scheduler),
      "go to one (ssh), or run the job here (--scheduler local); --dry-run shows what would "
      "be submitted");
}

}  // namespace kedge::jobs
