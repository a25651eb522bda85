#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <glob.h>

#include "cli/submit.h"
#include "cli/sweep.h"
#include "config/load.h"
#include "core/file.h"
#include "core/process.h"
#include "jobs/secrets.h"
#include "jobs/task_share.h"
#include "search/sweep_plan.h"
#include "track/names.h"

namespace kedge::cli {
namespace {

using jobs::After;
using jobs::JobSpec;

std::string plain_name(std::string name) {
  for (char& c : name) {
    const bool is_plain =
        std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
    c = is_plain ? c : '-';
  }
  return name.empty() ? "job" : name;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) {
    if (!line.empty()) {
      lines.push_back(line);
    }
  }
  return lines;
}

std::vector<std::string> files_matching(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> files;
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    files.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  }
  ::globfree(&found);
  return files;
}

Result<std::vector<std::string>> items_of(const Arguments& arguments) {
  const std::string file = arguments.value("--from");
  if (file == "-") {
    return lines_of({std::istreambuf_iterator<char>(std::cin), {}});
  }
  if (!file.empty()) {
    return lines_of(KEDGE_TRY(read_file(file)));
  }
  if (arguments.has("--matching")) {
    return files_matching(arguments.value("--matching"));
  }
  std::string list = arguments.value("--in");
  std::ranges::replace(list, ',', '\n');
  return lines_of(list);
}

// The array that the flags ask for.
Result<void> add_array(const Arguments& arguments, JobSpec& spec) {
  if (arguments.has("--tasks")) {
    spec.tasks = KEDGE_TRY(arguments.number("--tasks", 0, /*least=*/1));
  }
  for (const char* flag : {"--from", "--in", "--matching"}) {
    if (!arguments.has(flag)) {
      continue;
    }
    if (spec.tasks > 0) {
      return fail(ErrorKind::Usage, fmt::format("{} says how many tasks there are", flag));
    }
    spec.items = KEDGE_TRY(items_of(arguments));
    spec.tasks = static_cast<std::int64_t>(spec.items.size());
    if (spec.items.empty()) {
      return fail(ErrorKind::Usage,
                  fmt::format("{} {}: nothing to make tasks of", flag, arguments.value(flag)));
    }
  }
  return {};
}

void add_dependencies(const Arguments& arguments, JobSpec& spec) {
  for (const auto& [flag, after] :
       {std::pair("--after", After::Ok), std::pair("--after-any", After::Any),
        std::pair("--after-failed", After::Failed)}) {
    for (const std::string& job : arguments.values(flag)) {
      spec.after.push_back({job, after});
    }
  }
}

std::string filled(std::string text, const JobSpec& spec) {
  const std::string item = spec.items.empty() ? "" : spec.items.front();
  for (const auto& [name, value] : {std::pair<std::string, std::string>("{task}", "0"),
                                    std::pair<std::string, std::string>("{item}", item)}) {
    for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name)) {
      text.replace(at, name.size(), value);
    }
  }
  return text;
}

// The flags that are short for values.
std::vector<std::string> overrides_of(const Arguments& arguments) {
  std::vector<std::string> overrides = arguments.overrides();
  if (arguments.has("--scheduler")) {
    overrides.push_back("job.scheduler=" + arguments.value("--scheduler"));
  }
  if (arguments.has("--at-once")) {
    overrides.push_back("job.at_once=" + arguments.value("--at-once"));
  }
  return overrides;
}

Result<config::LoadedConfig> load_for(const Arguments& arguments, const Path& file,
                                      const JobSpec& spec) {
  config::LoadOptions options;
  options.file = file;
  config::read_environment(options);
  for (const std::string& text : overrides_of(arguments)) {
    options.overrides.push_back(filled(text, spec));
  }
  return config::load_config(options);
}

JobSpec make_spec(const Arguments& arguments) {
  JobSpec spec;
  spec.folder = std::filesystem::current_path();
  add_dependencies(arguments, spec);
  return spec;
}

// What an image, a conda environment or a module brings is found where the job runs: this machine
// may have another program of that name, or none.
Result<std::string> find_for_job(const std::string& name, const config::JobConfig& wants) {
  const bool has_surroundings = !wants.container.empty() || !wants.conda.empty() ||
                                !wants.venv.empty() || !wants.modules.empty() ||
                                !wants.setup.empty();
  if (has_surroundings && name.find('/') == std::string::npos) {
    return name;
  }
  const auto program = find_program(name);
  if (!program && wants.container.empty()) {
    return fail(ErrorKind::Usage, fmt::format("program '{}' is not installed", name));
  }
  return std::filesystem::absolute(program.value_or(name)).lexically_normal().string();
}

// One task on each machine, which starts its ranks itself on the cores of all of them.
void start_ranks_inside(config::JobConfig& wants) {
  wants.cpus *= wants.ranks;
  wants.ranks = 1;
}

// Whether job.ranks only follows from dist.ranks.
bool is_ranks_implied(const config::LoadedConfig& config) {
  const config::Field* field = config.find("job.ranks");
  KEDGE_CHECK(field != nullptr, "the config has this key");
  return field->layer == config::Layer::Default;
}

Result<JobSpec> program_spec(const Arguments& arguments, Args command) {
  JobSpec spec = make_spec(arguments);
  KEDGE_TRY(add_array(arguments, spec));
  // Only the job section counts, which any file can have.
  const auto config = KEDGE_TRY(load_for(arguments, arguments.value("--config"), spec));
  spec.wants = config->job;
  spec.wants.ranks = is_ranks_implied(config) ? 1 : spec.wants.ranks;
  spec.name = plain_name(arguments.value("--name", Path(command.front()).stem().string()));
  spec.command.assign(command.begin(), command.end());
  spec.command.front() = KEDGE_TRY(find_for_job(command.front(), spec.wants));
  spec.keys = jobs::tracker_keys();
  return spec;
}

Result<Path> config_file_of(const Arguments& arguments) {
  const auto& words = arguments.positionals();
  return config::find_config_file(words.empty() ? arguments.value("--config") : words.front());
}

Result<JobSpec> config_spec(const Arguments& arguments) {
  JobSpec spec = make_spec(arguments);
  KEDGE_TRY(add_array(arguments, spec));
  const auto config = KEDGE_TRY(load_for(arguments, KEDGE_TRY(config_file_of(arguments)), spec));
  spec.wants = config->job;
  if (is_ranks_implied(config) && spec.wants.nodes == 1) {
    start_ranks_inside(
        spec.wants);  // `kedge train` can start a lost rank again, a scheduler cannot
  }
  spec.is_kedge = true;
  if (!config->track.server.empty() && config->track.token_file.empty()) {
    spec.keys = {"KEDGE_TOKEN"};
  }
  // As it is now: the file may change before the job starts.
  spec.files["config.yaml"] = config.file_text;
  spec.command = {own_program().string(), "train", "{dir}/config.yaml"};
  const std::vector<std::string> overrides = overrides_of(arguments);
  spec.command.insert(spec.command.end(), overrides.begin(), overrides.end());
  std::string id = config->run.id;
  if (id.empty()) {
    // Known from the beginning, so that every start of the job goes on with the same run.
    id = track::make_run_id(std::chrono::duration_cast<std::chrono::seconds>(
                                std::chrono::system_clock::now().time_since_epoch())
                                .count());
    spec.command.push_back("run.id=" + id + (spec.is_array() ? "-{task}" : ""));
  }
  const std::string usual = config->run.name.empty() ? config->run.project : config->run.name;
  spec.name = plain_name(arguments.value("--name", usual));
  return spec;
}

Result<JobSpec> sweep_spec(const Arguments& arguments, bool is_dry) {
  JobSpec spec = make_spec(arguments);
  for (const std::string& text : arguments.overrides()) {
    if (!text.starts_with("job.")) {
      return fail(ErrorKind::Usage, fmt::format("'{}': a sweep's values are in its file", text),
                  "job.key=value says what its jobs need");
    }
  }
  // Before the sweep is made: what its jobs need must be sound.
  KEDGE_TRY(load_for(arguments, {}, spec));
  const std::int64_t agents = KEDGE_TRY(arguments.number("--agents", 0));
  const SweepToRun sweep = KEDGE_TRY(open_sweep_to_run(arguments, is_dry));
  const auto runs = search::expected_runs(sweep.plan);
  if (runs && *runs <= sweep.ended) {
    return fail(ErrorKind::Usage,
                fmt::format("all {} trials of sweep {} have ended", sweep.ended, sweep.name),
                fmt::format("`kedge sweep show {}` lists them; `kedge sweep retry {} --failed` "
                            "opens those that failed again",
                            arguments.positionals().front(), arguments.positionals().front()));
  }
  if (agents == 0 && !runs) {
    return fail(ErrorKind::Usage, "this sweep has no end, so nobody knows how many jobs to make",
                "give it a run_cap, or say how many agents work on it: --agents 4");
  }
  spec.wants = KEDGE_TRY(load_for(arguments, sweep.config, spec))->job;
  start_ranks_inside(spec.wants);  // by the agent's trials
  spec.is_kedge = true;
  spec.keys = jobs::tracker_keys();  // a trial may be a script that uses any of them
  spec.tasks = agents > 0 ? agents : *runs - sweep.ended;
  spec.command = {own_program().string(), "agent", sweep.folder};
  if (agents == 0) {
    spec.command.insert(spec.command.end(), {"--count", "1"});
  }
  spec.name = plain_name(arguments.value("--name", sweep.name));
  return spec;
}

// A small job of the same kind, after which the others may start.
Result<std::vector<JobSpec>> with_test(JobSpec spec) {
  JobSpec test = spec;
  test.name += "-test";
  const bool is_train = test.command.size() > 1 && test.command[1] == "train";
  if (is_train) {
    constexpr auto kSmall =
        std::to_array<const char*>({"train.max_steps=10", "train.epochs=1", "track.server="});
    test.command.insert(test.command.end(), kSmall.begin(), kSmall.end());
    for (std::string& word : test.command) {
      word += word.starts_with("run.id=") ? "-test" : "";
    }
  } else if (!spec.is_array()) {
    return fail(ErrorKind::Usage, "--test-one tries one task of an array or a sweep, or a config",
                "a single program has nothing smaller than itself");
  }
  test.tasks = 0;
  test.items.clear();
  if (spec.is_array()) {
    test.variables["KEDGE_ITEM"] = spec.items.empty() ? "" : spec.items.front();
  }
  const bool is_agent = test.command.size() > 1 && test.command[1] == "agent";
  if (is_agent) {
    spec.tasks -= 1;  // the trial of the test is one of the sweep's
  }
  spec.after.push_back({std::string(kJobBefore), After::Ok});
  return is_agent && spec.tasks == 0 ? std::vector<JobSpec>{test}
                                     : std::vector<JobSpec>{test, spec};
}

}  // namespace

Result<std::optional<config::LoadedConfig>> config_to_train(const Arguments& arguments,
                                                            Args command) {
  const auto& words = arguments.positionals();
  if (!command.empty()) {
    return std::nullopt;
  }
  if (!words.empty() && is_sweep(words.front(), arguments)) {
    const SweepToRun sweep = KEDGE_TRY(open_sweep_to_run(arguments, true));
    return sweep.config.empty() ? std::nullopt
                                : std::optional(KEDGE_TRY(load_for(arguments, sweep.config, {})));
  }
  return KEDGE_TRY(load_for(arguments, KEDGE_TRY(config_file_of(arguments)), {}));
}

Result<std::vector<JobSpec>> specs_to_submit(const Arguments& arguments, Args command,
                                             bool is_dry) {
  const auto& words = arguments.positionals();
  if (words.size() > (command.empty() ? 1U : 0U)) {
    return fail(ErrorKind::Usage, fmt::format("unexpected word '{}'", words.back()),
                "a config, a sweep, or a program behind --");
  }
  JobSpec spec = !command.empty() ? KEDGE_TRY(program_spec(arguments, command))
                 : !words.empty() && is_sweep(words.front(), arguments)
                     ? KEDGE_TRY(sweep_spec(arguments, is_dry))
                     : KEDGE_TRY(config_spec(arguments));
  KEDGE_TRY(jobs::check_spec(spec));
  std::vector<JobSpec> specs = arguments.has("--test-one") ? KEDGE_TRY(with_test(std::move(spec)))
                                                           : std::vector<JobSpec>{std::move(spec)};
  specs.back().per_gpu = KEDGE_TRY(arguments.number("--per-gpu", 1));
  specs.back() = KEDGE_TRY(jobs::share_gpus(std::move(specs.back())));
  return specs;
}

}  // namespace kedge::cli
