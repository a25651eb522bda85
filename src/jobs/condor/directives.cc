#include "jobs/condor/directives.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <sstream>
#include <string_view>

#include <fmt/format.h>

namespace kedge::jobs::condor {
namespace {

struct Rule {
  std::string_view name;  // the beginning of a command's name, in small letters
  std::string_view instead;
};

// Where there is a key for it; the longest names first.
constexpr auto kInstead = std::to_array<Rule>({
    {"request_cpus", "job.cpus"},
    {"request_memory", "job.memory"},
    {"request_disk", "job.disk"},
    {"request_gpus", "job.gpus"},
    {"gpus_minimum_capability", "job.gpu_capability"},
    {"gpus_maximum_capability", "job.gpu_capability_max"},
    {"gpus_minimum_memory", "job.gpu_memory"},
    {"require_gpus", "job.gpu_capability and job.gpu_memory"},
    {"transfer_output", "job.outputs"},
    {"transfer_input", "job.inputs"},
    {"output", "job.output"},
    {"error", "job.output, where both go"},
    {"arguments", "`kedge submit -- PROGRAM ARGS`"},
    {"executable", "`kedge submit -- PROGRAM ARGS`"},
    {"environment", "job.env"},
    {"accounting_group", "job.account"},
    {"batch_name", "--name of `kedge submit`"},
    {"container_image", "job.container"},
    {"docker_image", "job.container and job.container_tool"},
    {"max_retries", "job.retries"},
    {"max_materialize", "job.at_once"},
    {"allowed_", "job.time"},
    {"job_max_vacate_time", "job.grace"},
    {"queue", "--tasks, --in or --from of `kedge submit`"},
    {"+gpujoblength", "job.length"},
    {"+wantgpulab", "job.queue"},
    {"+wantflocking", "job.data_may_leave"},
    {"+wantglidein", "job.data_may_leave"},
});

// What makes another job of it, whether the file has it or not.
constexpr auto kNever = std::to_array<std::string_view>(
    {"queue", "log", "output", "error", "executable", "arguments", "universe", "initialdir",
     "should_transfer_files", "when_to_transfer_output", "checkpoint_exit_code", "on_exit_remove",
     "on_exit_hold", "leave_in_queue", "max_materialize", "+kedgemark", "dagman_log"});

// "MY.X" is what "+X" means; letters' case has no meaning.
std::string name_in(std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  const std::size_t end = line.find_first_of("= \t");
  std::string name(line.substr(0, end));
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name.starts_with("my.") ? "+" + name.substr(3) : name;
}

std::string_view value_in(std::string_view line) {
  const std::size_t equals = line.find('=');
  std::string_view value = equals == line.npos ? std::string_view() : line.substr(equals + 1);
  value.remove_prefix(std::min(value.find_first_not_of(" \t"), value.size()));
  return value;
}

Result<std::set<std::string>> names_of(const SubmitFile& file) {
  std::istringstream lines(KEDGE_TRY(render(file)));
  std::set<std::string> names;
  for (std::string line; std::getline(lines, line);) {
    names.insert(name_in(line));
  }
  return names;
}

}  // namespace

Result<void> add_directives(SubmitFile& file, const std::vector<std::string>& given) {
  const std::set<std::string> own = KEDGE_TRY(names_of(file));
  for (const std::string& line : given) {
    const std::string name = name_in(line);
    if (name == "requirements") {
      file.requirements.emplace_back(value_in(line));
      continue;
    }
    if (!own.contains(name) && std::ranges::find(kNever, name) == kNever.end()) {
      file.lines.push_back(line);
      continue;
    }
    const auto rule = std::ranges::find_if(
        kInstead, [&](const Rule& r) { return std::string_view(name).starts_with(r.name); });
    return fail(ErrorKind::Usage,
                fmt::format("job.directives: '{}' would override what kedge says itself", line),
                rule == kInstead.end() ? std::string("leave it out: the job depends on it")
                                       : fmt::format("use {}", rule->instead));
  }
  return {};
}

}  // namespace kedge::jobs::condor
