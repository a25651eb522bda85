#include "launch/job_script.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "launch/shell_text.h"

namespace kedge::launch {
namespace {

using config::ContainerTool;

bool is_registry_name(std::string_view image) {
  return image.starts_with("docker://") || image.find("://") == std::string_view::npos;
}

std::string export_line(std::string_view name, std::string_view value) {
  return fmt::format("export {}={}\n", name, quote_for_shell(value));
}

std::string render_conda(const std::string& environment) {
  if (environment.empty()) {
    return {};
  }
  // `conda activate` needs the shell's hook, which a batch job has not read.
  return fmt::format("eval \"$(conda shell.bash hook)\" || exit\nconda activate {} || exit\n",
                     quote_for_shell(environment));
}

// "/a:/a" for the folders of the work, the job and kedge, and what the user wants.
std::vector<std::string> mounts_of(const JobSpec& spec, const SubmissionPlace& place) {
  std::vector<std::string> mounts;
  const auto add = [&](const std::string& mount) {
    const std::string whole = mount.find(':') == std::string::npos ? mount + ":" + mount : mount;
    if (std::ranges::find(mounts, whole) == mounts.end()) {
      mounts.push_back(whole);
    }
  };
  add(spec.folder.string());
  add(place.folder.string());
  add(place.kedge.parent_path().string());
  std::ranges::for_each(spec.wants.mounts, add);
  return mounts;
}

std::string absolute_in(const Path& folder, const std::string& name) {
  return (folder / name).lexically_normal().string();
}

}  // namespace

std::string render_surroundings(const JobSpec& spec, const SubmissionPlace& place) {
  std::string text;
  text += export_line("KEDGE_JOB", place.key);
  text += export_line("KEDGE_JOB_DIR", place.folder.string());
  text += export_line("KEDGE_TASKS", std::to_string(spec.task_count()));
  for (const auto& [name, value] : spec.variables) {
    text += export_line(name, value);
  }
  for (const auto& [name, value] : spec.wants.env) {
    text += export_line(name, value);
  }
  const std::string secrets = quote_for_shell((place.folder / "secrets.sh").string());
  text += fmt::format("[ ! -e {0} ] || . {0}\n", secrets);
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

ContainerTool container_tool(const JobSpec& spec, bool has_pyxis) {
  if (spec.wants.container_tool != ContainerTool::Auto) {
    return spec.wants.container_tool;
  }
  const std::string& image = spec.wants.container;
  const bool is_sif = image.ends_with(".sif") || image.find("://") != std::string::npos;
  return has_pyxis && !is_sif && (image.ends_with(".sqsh") || is_registry_name(image))
             ? ContainerTool::Pyxis
             : ContainerTool::Apptainer;
}

std::vector<std::string> in_container(const JobSpec& spec, const SubmissionPlace& place,
                                      std::vector<std::string> words) {
  const bool is_docker = container_tool(spec, false) == ContainerTool::Docker;
  std::vector<std::string> all = is_docker
                                     ? std::vector<std::string>{"docker", "run", "--rm", "--init"}
                                     : std::vector<std::string>{"apptainer", "exec"};
  if (spec.wants.gpus > 0) {
    all.emplace_back(is_docker ? "--gpus=all" : "--nv");
  }
  for (const std::string& mount : mounts_of(spec, place)) {
    all.emplace_back(is_docker ? "-v" : "--bind");
    all.push_back(mount);
  }
  all.emplace_back(is_docker ? "-w" : "--pwd");
  all.push_back(spec.folder.string());
  all.push_back(spec.wants.container);
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

std::vector<std::string> pyxis_options(const JobSpec& spec, const SubmissionPlace& place) {
  return {"--container-image=" + spec.wants.container,
          fmt::format("--container-mounts={}", fmt::join(mounts_of(spec, place), ",")),
          "--container-workdir=" + spec.folder.string(), "--no-container-mount-home"};
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

}  // namespace kedge::launch
