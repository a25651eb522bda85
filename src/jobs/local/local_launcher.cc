// Processes on this machine, in slots.
#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "core/host_name.h"
#include "core/process.h"
#include "core/result.h"
#include "jobs/job_script.h"
#include "jobs/launcher.h"
#include "jobs/local/slots.h"
#include "jobs/local/supervisor.h"
#include "jobs/secrets.h"

namespace kedge::jobs::local {
namespace {

constexpr auto kPatience = std::chrono::seconds(60);

std::int64_t memory_mb() {
  return (::sysconf(_SC_PHYS_PAGES) * ::sysconf(_SC_PAGESIZE)) >> 20;
}

std::vector<TaskStatus> statuses_of(const JobRecord& record) {
  std::vector<TaskStatus> all;
  for (const Submission& submission : record.submissions) {
    const auto statuses = read_statuses(record.folder, submission.number);
    if (!statuses) {
      continue;
    }
    // From another machine nobody can tell whether the supervisor lives.
    const bool is_alive =
        record.host != host_name() || is_supervised(record.folder, submission.number);
    for (TaskStatus status : *statuses) {
      if (record.responsible(status.task) != &submission) {
        continue;
      }
      status.id = record.key;
      status.node = record.host;
      if (!is_final(status.state) && !is_alive) {
        status.state = record.is_cancelled ? TaskState::Cancelled : TaskState::Lost;
        status.reason = "its supervisor is gone: killed, or the machine was restarted";
      }
      all.push_back(std::move(status));
    }
  }
  return all;
}

class LocalLauncher : public Launcher {
 public:
  std::string_view name() const override { return "local"; }

  bool is_here() const override { return true; }

  int priority() const override { return 0; }

  bool is_quick_to_ask() const override { return true; }

  Result<Rendering> render(const JobSpec& spec, const SubmissionPlace& place) const override {
    const Machine machine = Machine::of_this_host();
    if (spec.wants.nodes > 1) {
      return fail(ErrorKind::Usage,
                  fmt::format("job.nodes is {}, and here is one machine", spec.wants.nodes),
                  "job.scheduler slurm runs on several");
    }
    if (spec.wants.gpus > static_cast<std::int64_t>(machine.gpus.size())) {
      return fail(ErrorKind::Usage, fmt::format("job.gpus is {}, and this machine has {}",
                                                spec.wants.gpus, machine.gpus.size()));
    }
    const std::string file = fmt::format("job-{}.sh", place.submission);
    Rendering rendering{
        .files = {{file, render_script(spec, place), true}},
        .command = {"setsid", "--fork", place.kedge.string(), "task", "--supervise",
                    place.folder.string(), "--submission", std::to_string(place.submission)},
        .output = output_pattern(spec, place),
        .secrets = secrets_of(spec)};
    if (!spec.items.empty()) {
      rendering.files.push_back({"items", fmt::format("{}\n", fmt::join(spec.items, "\n"))});
    }
    if (spec.wants.cpus * spec.wants.ranks > machine.cpus) {
      rendering.notes.push_back(fmt::format("the job asks for {} cores and runs on the {} here",
                                            spec.wants.cpus * spec.wants.ranks, machine.cpus));
    }
    return rendering;
  }

  Result<std::string> submit(const Rendering& rendering, const JobRecord& record) const override {
    // The supervisor lets go of our pipes once it has taken over.
    const auto answer = run_process(
        {.args = without_secrets(rendering.command, rendering.secrets), .timeout = kPatience});
    if (!answer) {
      return std::unexpected(answer.error());
    }
    if (!answer->is_ok() || !read_statuses(record.folder, record.last().number)) {
      return fail(ErrorKind::Io, "the job's supervisor did not start: " + answer->errors);
    }
    return record.key;
  }

  Result<std::optional<std::string>> find(const JobRecord& record) const override {
    return read_statuses(record.folder, record.last().number) ||
                   is_supervised(record.folder, record.last().number)
               ? std::optional(record.key)
               : std::nullopt;
  }

  Result<std::map<std::string, std::vector<TaskStatus>>> look(
      std::span<const JobRecord> records) const override {
    std::map<std::string, std::vector<TaskStatus>> statuses;
    for (const JobRecord& record : records) {
      statuses[record.key] = statuses_of(record);
    }
    return statuses;
  }

  // The supervisor looks at the files that the book has made.
  Result<void> cancel(const JobRecord& /*record*/,
                      std::span<const std::int64_t> /*tasks*/) const override {
    return {};
  }

  Result<Site> look_at_site(const JobSpec& /*spec*/) const override {
    const Machine machine = Machine::of_this_host();
    return Site{.machines = {{.name = host_name(),
                              .cpus = machine.cpus,
                              .memory_mb = memory_mb(),
                              .gpus = static_cast<std::int64_t>(machine.gpus.size())}}};
  }

  Result<std::vector<std::string>> interactive(const JobSpec& /*spec*/) const override {
    return fail(ErrorKind::Usage, "an interactive session on this machine is a shell",
                "job.scheduler slurm gives one on a node");
  }
};

const Launchers::Add kAddLocal({"local", "processes on this machine, in slots of cores and GPUs",
                                []() -> Result<std::unique_ptr<Launcher>> {
                                  return std::make_unique<LocalLauncher>();
                                }});

}  // namespace
}  // namespace kedge::jobs::local
