#include "jobs/job_script.h"

#include <filesystem>
#include <string_view>

#include <fmt/format.h>

#include "jobs/secrets.h"
#include "jobs/shell_text.h"

namespace kedge::jobs {
namespace {

std::string absolute_in(const Path& folder, const std::string& name) {
  return (folder / name).lexically_normal().string();
}

}  // namespace

std::string render_conda(const std::string& environment) {
  if (environment.empty()) {
    return {};
  }
  // `conda activate` needs the shell's hook, which a batch job has not read.
  return fmt::format(
      "hook=$(conda shell.bash hook) || exit\neval \"$hook\"\nconda activate {} || exit\n",
      quote_for_shell(environment));
}

std::string render_surroundings(const JobSpec& spec, const SubmissionPlace& place) {
  std::string text;
  text += export_line("KEDGE_JOB", place.key);
  text += export_line("KEDGE_JOB_DIR", place.folder.string());
  text += export_line("KEDGE_TASKS", std::to_string(spec.task_count()));
  const std::string secrets =
      quote_for_shell((place.folder / secrets_file_name(place.submission)).string());
  text += fmt::format("[ ! -e {0} ] || . {0}\n", secrets);
  return text + render_environment(spec);
}

std::string render_environment(const JobSpec& spec) {
  std::string text;
  for (const auto& [name, value] : spec.variables) {
    text += export_line(name, value);
  }
  for (const auto& [name, value] : spec.wants.env) {
    text += export_line(name, value);
  }
  for (const std::string& module : spec.wants.modules) {
    text += fmt::format("module load {} || exit\n", quote_for_shell(module));
  }
  text += render_conda(spec.wants.conda);
  if (!spec.wants.venv.empty()) {
    text +=
        fmt::format(". {} || exit\n",
                    quote_for_shell(absolute_in(spec.folder, spec.wants.venv + "/bin/activate")));
  }
  text += fmt::format("cd {} || exit\n", quote_for_shell(spec.folder.string()));
  for (const std::string& line : spec.wants.setup) {
    text += line + " || exit\n";
  }
  return text;
}

std::vector<std::string> task_words(const JobSpec& spec, const SubmissionPlace& place,
                                    const TaskOptions& options) {
  std::vector<std::string> words = {options.kedge.empty() ? place.kedge.string() : options.kedge,
                                    "task"};
  if (spec.wants.stamp && options.is_stamped) {
    words.emplace_back("--stamp");
  }
  if (spec.wants.resumable && !spec.is_kedge) {
    words.emplace_back("--resumable");
    words.emplace_back(fmt::format("--grace={}", spec.wants.grace.value));
  }
  if (spec.shared > 0) {
    words.insert(words.end(),
                 {"--share", std::to_string(spec.per_gpu), "--of", std::to_string(spec.shared)});
  }
  words.emplace_back("--");
  words.insert(words.end(), spec.command.begin(), spec.command.end());
  return words;
}

std::string output_pattern(const JobSpec& spec, const SubmissionPlace& place) {
  if (spec.wants.output.empty()) {
    return (place.logs() / (spec.is_array() ? "{task}.log" : "job.log")).string();
  }
  std::string pattern;
  const std::string given = absolute_in(spec.folder, spec.wants.output);
  for (std::size_t i = 0; i < given.size(); ++i) {
    const char next = given[i] == '%' && i + 1 < given.size() ? given[i + 1] : '\0';
    switch (next) {
      case 'x':
        pattern += spec.name;
        break;
      case 'a':
        pattern += "{task}";
        break;
      case 'N':
        pattern += "{node}";
        break;
      case 'j':
      case 'A':
        pattern += "{job}";
        break;
      case '%':
        pattern += '%';
        break;
      default:
        pattern += given[i];
        continue;
    }
    ++i;
  }
  return pattern;
}

}  // namespace kedge::jobs
