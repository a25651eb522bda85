#include "jobs/container_files.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/file.h"

namespace kedge::jobs {
namespace {

// Where kedge lies in an image.
constexpr std::string_view kPlace = "/opt/kedge";

// Shell lines that are run in the image while it is built.
std::vector<std::string> steps_of(const ContainerPlan& plan) {
  std::vector<std::string> packages;
  if (plan.has_packages) {
    packages = {"ca-certificates", "libcurl4"};
  }
  if (plan.has_requirements) {
    packages.insert(packages.end(), {"python3", "python3-pip", "python3-venv"});
  }
  if (plan.has_environment) {
    packages.insert(packages.end(), {"bzip2", "curl"});
  }
  std::vector<std::string> steps;
  if (!packages.empty()) {
    // Nobody is there to answer a package's questions.
    steps.emplace_back("export DEBIAN_FRONTEND=noninteractive");
    steps.emplace_back("apt-get update");
    steps.push_back(
        fmt::format("apt-get install -y --no-install-recommends {}", fmt::join(packages, " ")));
    steps.emplace_back("rm -rf /var/lib/apt/lists/*");
  }
  if (plan.has_requirements) {
    steps.emplace_back("python3 -m venv /opt/venv");
    steps.emplace_back("/opt/venv/bin/pip install --no-cache-dir -r /opt/requirements.txt");
  }
  if (plan.has_environment) {
    steps.emplace_back(
        "curl -Ls https://micro.mamba.pm/api/micromamba/linux-64/latest | tar -xj -C /usr/local "
        "bin/micromamba");
    steps.emplace_back("micromamba create -y -p /opt/venv -f /opt/environment.yml");
  }
  return steps;
}

bool has_python(const ContainerPlan& plan) {
  return plan.has_requirements || plan.has_environment;
}

std::string search_path_of(const ContainerPlan& plan) {
  return fmt::format("{}{}/bin:$PATH", has_python(plan) ? "/opt/venv/bin:" : "", kPlace);
}

std::string software_line() {
  return fmt::format("software {}", kPlace);
}

// What the steps read.
std::vector<std::string> listings_of(const ContainerPlan& plan) {
  std::vector<std::string> lines;
  if (plan.has_requirements) {
    lines.emplace_back("requirements.txt /opt/requirements.txt");
  }
  if (plan.has_environment) {
    lines.emplace_back("environment.yml /opt/environment.yml");
  }
  return lines;
}

bool is_here(std::string_view path) {
  std::error_code ignored;
  return std::filesystem::exists(Path(path), ignored);
}

}  // namespace

Result<std::string> base_for_system(std::string_view pretty_name) {
  // "Debian GNU/Linux 12 (bookworm)", "Ubuntu 22.04.4 LTS"
  const std::size_t digit = pretty_name.find_first_of("0123456789");
  const std::string_view version =
      digit == std::string_view::npos ? std::string_view() : pretty_name.substr(digit);
  if (pretty_name.starts_with("Debian") && !version.empty()) {
    return fmt::format("debian:{}-slim", version.substr(0, version.find_first_of(" .")));
  }
  if (pretty_name.starts_with("Ubuntu") && version.size() >= 5) {
    return fmt::format("ubuntu:{}", version.substr(0, 5));
  }
  return fail(ErrorKind::Usage,
              fmt::format("which image has the C library of '{}' is not known", pretty_name),
              "name one that is at least as new: --base ubuntu:24.04");
}

std::string render_dockerfile(const ContainerPlan& plan) {
  std::string text = fmt::format("# {}\nFROM {}\n", plan.about, plan.base);
  const std::vector<std::string> steps = steps_of(plan);
  for (const std::string& line : listings_of(plan)) {
    text += fmt::format("COPY {}\n", line);
  }
  if (!steps.empty()) {
    text += fmt::format("RUN {}\n", fmt::join(steps, " && \\\n    "));
  }
  // After the packages: another build of kedge then installs none of them again.
  text += fmt::format("COPY {}\n", software_line());
  text += fmt::format("ENV PATH={}\nENTRYPOINT []\nCMD [\"kedge\"]\n", search_path_of(plan));
  return text;
}

std::string render_apptainer(const ContainerPlan& plan) {
  std::string text = fmt::format("# {}\nBootstrap: {}\nFrom: {}\n\n%files\n", plan.about,
                                 is_here(plan.base) ? "localimage" : "docker", plan.base);
  std::vector<std::string> files = listings_of(plan);
  files.push_back(software_line());
  for (const std::string& line : files) {
    text += fmt::format("    {}\n", line);
  }
  const std::vector<std::string> steps = steps_of(plan);
  if (!steps.empty()) {
    text += fmt::format("\n%post\n    set -e\n    {}\n", fmt::join(steps, "\n    "));
  }
  text += fmt::format("\n%environment\n    export PATH={}\n\n%runscript\n    exec kedge \"$@\"\n",
                      search_path_of(plan));
  return text;
}

std::string source_for_apptainer(std::string_view image) {
  if (image.find("://") != std::string_view::npos) {
    return std::string(image);
  }
  if (is_here(image)) {
    return image.ends_with(".tar") ? fmt::format("docker-archive:{}", image) : std::string(image);
  }
  return fmt::format("docker://{}", image);
}

}  // namespace kedge::jobs
