#include "jobs/in_container.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "jobs/shell_text.h"

namespace kedge::jobs {
namespace {

using config::ContainerTool;

// Docker's containers see none of the variables, are another machine in the network, and write
// files as root: unlike Apptainer's, and unlike the same command outside. Variables go by name
// alone: a key is on no command line. Those that describe the machine outside stay outside.
constexpr std::string_view kDocker = R"sh(exec docker run --rm --init --network=host --ipc=host \
  --user="$(id -u):$(id -g)" $(env | sed -n 's/^\([A-Za-z_][A-Za-z0-9_]*\)=.*/\1/p' |
    grep -vxE 'PATH|HOME|PWD|OLDPWD|SHELL|SHLVL|TMPDIR|HOSTNAME|_|LD_.*|BASH_.*' |
    sed 's/^/--env=/') "$@")sh";

bool is_registry_name(std::string_view image) {
  return image.starts_with("docker://") || image.find("://") == std::string_view::npos;
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

}  // namespace

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

std::vector<std::string> words_in_image(const SubmissionPlace& place,
                                        std::vector<std::string> words) {
  std::ranges::replace(words, place.kedge.string(), std::string("kedge"));
  // The image's own programs come first.
  const std::string script = fmt::format("PATH=$PATH:{}; export PATH; exec \"$@\"",
                                         quote_for_shell(place.kedge.parent_path().string()));
  words.insert(words.begin(), {"/bin/sh", "-c", script, "sh"});
  return words;
}

std::vector<std::string> in_container(const JobSpec& spec, const SubmissionPlace& place,
                                      std::vector<std::string> words) {
  const bool is_docker = container_tool(spec, false) == ContainerTool::Docker;
  std::vector<std::string> all =
      is_docker ? std::vector<std::string>{"/bin/sh", "-c", std::string(kDocker), "sh"}
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
  const std::vector<std::string> inside = words_in_image(place, std::move(words));
  all.insert(all.end(), inside.begin(), inside.end());
  return all;
}

std::vector<std::string> pyxis_options(const JobSpec& spec, const SubmissionPlace& place) {
  return {"--container-image=" + spec.wants.container,
          fmt::format("--container-mounts={}", fmt::join(mounts_of(spec, place), ",")),
          "--container-workdir=" + spec.folder.string(), "--no-container-mount-home"};
}

}  // namespace kedge::jobs
