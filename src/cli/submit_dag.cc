// `kedge submit DAG.yaml`: steps that wait for each other, on any scheduler.
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/shared/json_output.h"
#include "cli/submit.h"
#include "cli/sweep.h"
#include "config/load.h"
#include "core/file.h"
#include "core/log.h"
#include "jobs/dag.h"

namespace kedge::cli {
namespace {

using jobs::DagStep;
using jobs::JobSpec;

// The words that `kedge submit` would have been given for the step alone.
Result<JobSpec> spec_of(const DagStep& step, const jobs::Dag& dag,
                        const std::vector<std::string>& overrides, const Path& folder) {
  std::vector<std::string> words = step.job;
  words.insert(words.end(), overrides.begin(), overrides.end());
  std::vector<std::string> command = step.command;
  if (step.command.empty()) {
    words.insert(words.begin(), (folder / step.config).string());
    words.insert(words.end(), step.set.begin(), step.set.end());
  } else if (step.command.front().find('/') != std::string::npos) {
    command.front() = (folder / step.command.front()).lexically_normal().string();
  }
  words.push_back("--name");
  words.push_back(dag.name + "-" + step.name);
  const auto arguments = KEDGE_TRY(Arguments::parse(words, submit_help()));
  return KEDGE_TRY(specs_to_submit(arguments, command, true)).front();
}

Result<std::vector<jobs::SetStep>> steps_to_submit(const Arguments& arguments) {
  const std::string& file = arguments.positionals().front();
  const jobs::Dag dag = KEDGE_TRY(jobs::parse_dag(KEDGE_TRY(read_file(file)), file));
  std::vector<std::string> overrides = arguments.overrides();
  if (arguments.has("--scheduler")) {
    overrides.push_back("job.scheduler=" + arguments.value("--scheduler"));
  }
  for (const std::string& text : overrides) {
    if (!text.starts_with("job.")) {
      return fail(ErrorKind::Usage, fmt::format("'{}': a step's values are in its `set`", text),
                  "job.key=value is for all steps");
    }
  }
  const Path folder = std::filesystem::absolute(file).parent_path();
  std::vector<jobs::SetStep> steps;
  for (const DagStep& step : dag.steps) {
    auto spec = spec_of(step, dag, overrides, folder);
    if (!spec) {
      Error error = std::move(spec).error();
      error.message = fmt::format("{}: step {}: {}", file, step.name, error.message);
      return std::unexpected(std::move(error));
    }
    steps.push_back({.step = step, .spec = std::move(*spec)});
  }
  return steps;
}

nlohmann::json record_json(const jobs::JobRecord& record) {
  return {{"job", record.key},
          {"name", record.spec.name},
          {"scheduler", record.launcher},
          {"id", record.last().id},
          {"tasks", record.spec.task_count()},
          {"folder", record.folder.string()}};
}

int show_steps(const jobs::JobBook& book, const std::vector<jobs::SetStep>& steps,
               const std::vector<jobs::Rendering>& renderings) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    std::string after;
    for (const jobs::DagAfter& edge : steps[i].step.after) {
      after +=
          fmt::format("{} {} ({})", after.empty() ? " after" : ",", edge.step, name_of(edge.edge));
    }
    fmt::print("## step {}{}\n", steps[i].step.name, after);
    print_rendering(renderings[i], book.dir() / "KEY");
    for (const std::string& note : renderings[i].notes) {
      warn("step {}: {}", steps[i].step.name, note);
    }
  }
  return kExitDone;
}

}  // namespace

bool is_dag(const std::string& word) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(word, error)) {
    return false;
  }
  const auto text = read_file(word);
  return text && jobs::looks_like_dag(*text);
}

Result<int> submit_steps(const Arguments& arguments, const jobs::JobBook& book,
                         const jobs::Launcher& launcher, const std::vector<jobs::SetStep>& steps) {
  const auto renderings = KEDGE_TRY(jobs::rehearse_set(book, launcher, steps, own_program()));
  std::vector<std::string> handed;
  for (const jobs::Rendering& rendering : renderings) {
    handed.insert(handed.end(), rendering.secrets.begin(), rendering.secrets.end());
  }
  tell_kept_back(handed);
  if (arguments.has("--dry-run")) {
    return show_steps(book, steps, renderings);
  }
  const auto records = KEDGE_TRY(jobs::submit_set(book, launcher, steps, own_program()));
  nlohmann::json all = nlohmann::json::array();
  for (const jobs::JobRecord& record : records) {
    say("kedge: job {} ({}) is {} {}", record.key, record.spec.name, record.launcher,
        record.last().id);
    all.push_back(record_json(record));
    if (!arguments.has("--json")) {
      fmt::print("{}\n", record.key);
    }
  }
  if (arguments.has("--json")) {
    print_json(all);
  }
  return kExitDone;
}

Result<int> submit_dag(const Arguments& arguments, const jobs::JobBook& book) {
  const auto steps = KEDGE_TRY(steps_to_submit(arguments));
  const std::string& scheduler = steps.front().spec.wants.scheduler;
  for (const jobs::SetStep& step : steps) {
    if (step.spec.wants.scheduler != scheduler) {
      return fail(ErrorKind::Usage,
                  fmt::format("step {} runs on {}, step {} on {}: they cannot wait for each other",
                              steps.front().step.name, scheduler, step.step.name,
                              step.spec.wants.scheduler),
                  "give all the same job.scheduler");
    }
  }
  const auto launcher = KEDGE_TRY(jobs::make_launcher(scheduler));
  if (!arguments.has("--dry-run")) {
    KEDGE_TRY(launcher->check_here());
  }
  return submit_steps(arguments, book, *launcher, steps);
}

std::vector<jobs::SetStep> as_steps(std::vector<jobs::JobSpec> specs) {
  std::vector<jobs::SetStep> steps;
  for (JobSpec& spec : specs) {
    DagStep step{.name = fmt::format("job-{}", steps.size() + 1)};
    if (!steps.empty()) {
      step.after.push_back({.step = steps.back().step.name});
    }
    steps.push_back({.step = std::move(step), .spec = std::move(spec)});
  }
  return steps;
}

}  // namespace kedge::cli
