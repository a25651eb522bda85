#include "jobs/slurm/accounting.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <map>
#include <utility>

#include "jobs/internal/time_text.h"
#include "jobs/slurm/columns.h"
#include "jobs/slurm/directives.h"
#include "jobs/slurm/queue.h"

namespace kedge::jobs::slurm {
namespace {

constexpr std::string_view kColumns =
    "JobID,JobName,State,ExitCode,ElapsedRaw,TotalCPU,MaxRSS,AllocCPUS,AllocTRES,TimelimitRaw,"
    "NodeList,Submit,Start,End,Comment";

enum Column : std::uint8_t {
  Id,
  Name,
  State,
  ExitCode,
  Elapsed,
  TotalCpu,
  MaxRss,
  Cpus,
  Tres,
  TimeLimit,
  Nodes,
  Submit,
  Start,
  End,
  Comment,
  kColumnCount,
};

std::int64_t time_of(const std::string& text) {
  const auto time = parse_utc(text);
  return time ? std::chrono::duration_cast<std::chrono::seconds>(time->time_since_epoch()).count()
              : 0;
}

// "85:0" is an exit code, "0:9" a signal.
std::optional<int> parse_exit_code(std::string_view text) {
  const std::size_t colon = text.find(':');
  const auto code = parse_number<int>(text.substr(0, colon));
  const auto signal =
      colon == std::string_view::npos ? std::nullopt : parse_number<int>(text.substr(colon + 1));
  return signal.value_or(0) > 0 ? std::optional(128 + *signal) : code;
}

// "cpu=2,gres/gpu=1,mem=100M,node=1"
std::string tres_value(std::string_view tres, std::string_view name) {
  for (const std::string& part : split(tres, ',')) {
    if (part.starts_with(name) && part.size() > name.size() && part[name.size()] == '=') {
      return part.substr(name.size() + 1);
    }
  }
  return {};
}

AccountedJob job_of(const std::vector<std::string>& parts) {
  AccountedJob job;
  const std::string& id = parts[Id];
  const std::size_t underscore = id.find('_');
  job.id = id.substr(0, underscore);
  if (underscore != std::string::npos) {
    job.task = parse_number<std::int64_t>(std::string_view(id).substr(underscore + 1));
  }
  job.name = parts[Name];
  job.mark = mark_in(parts.back());  // a comment may hold what separates columns
  const std::int64_t nodes = std::max<std::int64_t>(
      parse_number<std::int64_t>(tres_value(parts[Tres], "node")).value_or(1), 1);
  job.status = {.state = state_of(parts[State]),
                .id = id,
                .reason = parts[State],
                .exit_code = parse_exit_code(parts[ExitCode]),
                .node = parts[Nodes],
                .submitted_s = time_of(parts[Submit]),
                .started_s = time_of(parts[Start]),
                .ended_s = time_of(parts[End])};
  Usage& usage = job.status.usage;
  usage.elapsed_s = parse_number<double>(parts[Elapsed]);
  usage.cpu_s = parse_duration(parts[TotalCpu]);
  usage.cpus = parse_number<std::int64_t>(parts[Cpus]).value_or(0);
  usage.gpus = parse_number<std::int64_t>(tres_value(parts[Tres], "gres/gpu")).value_or(0);
  usage.memory_limit_bytes =
      parse_size(tres_value(parts[Tres], "mem")).value_or(0) / static_cast<std::uint64_t>(nodes);
  usage.time_limit_s = 60 * parse_number<double>(parts[TimeLimit]).value_or(0);
  return job;
}

}  // namespace

std::string accounting_columns() {
  return std::string(kColumns);
}

std::optional<double> parse_duration(std::string_view text) {
  double days = 0;
  if (const std::size_t dash = text.find('-'); dash != std::string_view::npos) {
    const auto value = parse_number<double>(text.substr(0, dash));
    if (!value) {
      return std::nullopt;
    }
    days = *value;
    text.remove_prefix(dash + 1);
  }
  double seconds = 0;
  for (const std::string& part : split(text, ':')) {
    const auto value = parse_number<double>(part);
    if (!value) {
      return std::nullopt;
    }
    seconds = seconds * 60 + *value;
  }
  return days * 86400 + seconds;
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
  constexpr std::string_view kLetters = "KMGTP";
  double factor = 1;
  if (!text.empty() && std::isalpha(static_cast<unsigned char>(text.back())) != 0) {
    const std::size_t power = kLetters.find(text.back());
    if (power == std::string_view::npos) {
      return std::nullopt;
    }
    for (std::size_t i = 0; i <= power; ++i) {
      factor *= 1024;
    }
    text.remove_suffix(1);
  }
  const auto value = parse_number<double>(text);
  return value ? std::optional(static_cast<std::uint64_t>(*value * factor)) : std::nullopt;
}

std::vector<AccountedJob> parse_accounting(std::string_view text) {
  std::vector<AccountedJob> jobs;
  std::map<std::string, std::size_t> by_id;
  for (const std::string& line : split(text, '\n')) {
    const std::vector<std::string> parts = split(line, '|');
    if (parts.size() < kColumnCount || parts[Id].find('[') != std::string::npos) {
      continue;
    }
    const std::size_t dot = parts[Id].find('.');
    if (dot == std::string::npos) {
      by_id[parts[Id]] = jobs.size();
      jobs.push_back(job_of(parts));
      continue;
    }
    const auto job = by_id.find(parts[Id].substr(0, dot));
    const auto memory = parse_size(parts[MaxRss]);
    if (job != by_id.end() && memory) {
      auto& most = jobs[job->second].status.usage.memory_bytes;
      most = std::max(most.value_or(0), *memory);
    }
  }
  return jobs;
}

}  // namespace kedge::jobs::slurm
