// `kedge container`: an image that holds what a run needs, and images as files for Apptainer.
#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/shared/arguments.h"
#include "cli/sweep.h"
#include "cli/verbs.h"
#include "config/load.h"
#include "core/file.h"
#include "core/log.h"
#include "core/process.h"
#include "jobs/container_files.h"
#include "jobs/software.h"
#include "track/run_list.h"

namespace kedge::cli {
namespace {

namespace fs = std::filesystem;

const VerbHelp kMakeHelp = {
    .usage = "kedge container make [CONFIG | RUN] [key=value ...] [options]",
    .text =
        "Writes a folder that Docker, Podman or Apptainer builds an image from: kedge, kedge-train "
        "and libtorch,\nand the Python environment that the job section names (job.venv, "
        "job.conda). With job.gpus, CUDA's libraries too.",
    .flags = {{"--out", "DIR", "the folder to write (container)"},
              {"--base", "IMAGE", "what to build on; the system of the run or of this machine"},
              {"--no-packages", "", "install nothing while building, which needs no fakeroot"},
              kConfigFlag}};

const VerbHelp kSifHelp = {
    .usage = "kedge container sif IMAGE [FILE.sif]",
    .text =
        "Makes a file for Apptainer of an image: one of a registry, of this machine's Docker or "
        "Podman, a file\nthat `docker save` wrote, a folder, or a definition file.",
    .flags = {{"--force", "", "replace FILE.sif"}}};

std::string value_in(const std::string& text, std::string_view name) {
  const std::size_t at = text.find(fmt::format("{}=", name));
  if (at == std::string::npos) {
    return "";
  }
  const std::size_t begin = text.find_first_not_of("\"=", at + name.size());
  return text.substr(begin, text.find_first_of("\"\n", begin) - begin);
}

// What the image is for: its config, and the system that its programs were used on.
struct Purpose {
  config::LoadedConfig config;
  std::string system;
  std::string about;
};

Result<Purpose> read_purpose(const Arguments& arguments) {
  const auto& words = arguments.positionals();
  std::error_code ignored;
  const bool is_file = words.empty() || fs::is_regular_file(words.front(), ignored);
  if (is_file) {
    Purpose purpose{.config = KEDGE_TRY(load_config_of(arguments)),
                    .system = value_in(read_file("/etc/os-release").value_or(""), "PRETTY_NAME"),
                    .about = {}};
    purpose.about = fmt::format("What {} needs", purpose.config.file.string());
    return purpose;
  }
  if (words.size() > 1) {
    return fail(ErrorKind::Usage, fmt::format("unexpected word '{}'", words[1]),
                "one config file or one run");
  }
  const Path run = KEDGE_TRY(track::find_run_folder(words.front(), "runs"));
  config::LoadOptions options{.file = run / "config.yaml"};
  options.overrides = arguments.overrides();
  const auto environment =
      nlohmann::json::parse(read_file(run / "environment.json").value_or("{}"), nullptr, false);
  return Purpose{.config = KEDGE_TRY(config::load_config(options)),
                 .system = environment.is_object() ? environment.value("os", "") : "",
                 .about = fmt::format("What run {} needs", run.filename().string())};
}

// The packages of an environment, as the tool that made it lists them.
Result<void> write_listing(const std::vector<std::string>& command, const Path& file) {
  const ProcessResult listed = KEDGE_TRY(run_process({.args = command}));
  if (!listed.is_ok()) {
    return fail(ErrorKind::Unavailable,
                fmt::format("{} failed: {}", command.front(), listed.errors));
  }
  return write_file_atomic(file, listed.output);
}

Result<void> make(Args args) {
  const auto parsed = KEDGE_TRY(parse_or_help(args, kMakeHelp));
  if (!parsed) {
    return {};
  }
  const Arguments& arguments = *parsed;
  const Purpose purpose = KEDGE_TRY(read_purpose(arguments));
  const config::JobConfig& job = purpose.config->job;
  jobs::ContainerPlan plan{.base = arguments.value("--base"),
                           .has_packages = !arguments.has("--no-packages"),
                           .has_requirements = !job.venv.empty(),
                           .has_environment = !job.conda.empty(),
                           .about = purpose.about};
  if (plan.base.empty()) {
    plan.base = KEDGE_TRY(jobs::base_for_system(purpose.system));
  }
  const Path folder = arguments.value("--out", "container");
  KEDGE_TRY(make_dirs(folder));
  if (plan.has_requirements) {
    KEDGE_TRY(write_listing({job.venv + "/bin/python", "-m", "pip", "freeze"},
                            folder / "requirements.txt"));
  }
  if (plan.has_environment) {
    const std::string which = job.conda.find('/') == std::string::npos ? "-n" : "-p";
    KEDGE_TRY(
        write_listing({"conda", "env", "export", which, job.conda}, folder / "environment.yml"));
  }
  KEDGE_TRY(
      jobs::copy_software({.kedge = own_program(), .has_cuda = job.gpus > 0}, folder / "software"));
  // Only Apptainer builds on a file or a folder.
  std::error_code ignored;
  const bool is_for_docker = !fs::exists(plan.base, ignored);
  if (is_for_docker) {
    KEDGE_TRY(write_file_atomic(folder / "Dockerfile", jobs::render_dockerfile(plan)));
  }
  KEDGE_TRY(write_file_atomic(folder / "apptainer.def", jobs::render_apptainer(plan)));
  for (const std::string& module : job.modules) {
    warn("job.modules: {} is of the cluster; what it brings is not in the image", module);
  }
  if (is_for_docker) {
    fmt::print("docker build -t NAME {}\n", folder.string());
  }
  fmt::print("cd {} && apptainer build NAME.sif apptainer.def\n", folder.string());
  return {};
}

Result<std::string> find_apptainer() {
  for (const char* name : {"apptainer", "singularity"}) {
    if (find_program(name)) {
      return name;
    }
  }
  return fail(ErrorKind::Usage, "this machine has neither apptainer nor singularity",
              "clusters have one on their login nodes; its packages are named apptainer");
}

// Images that only this machine's Docker or Podman knows are handed over as a file.
Result<bool> save_local_image(const std::string& image, const Path& file) {
  for (const char* tool : {"docker", "podman"}) {
    if (!find_program(tool)) {
      continue;
    }
    const auto known = run_process({.args = {tool, "image", "inspect", image}});
    if (!known || !known->is_ok()) {
      continue;
    }
    std::vector<std::string> command = {tool, "save", "-o", file.string(), image};
    if (std::string_view(tool) == "podman") {
      command.insert(command.begin() + 2, {"--format", "docker-archive"});
    }
    const ProcessResult saved = KEDGE_TRY(run_process({.args = command}));
    if (!saved.is_ok()) {
      return fail(ErrorKind::Unavailable,
                  fmt::format("{} save {} failed: {}", tool, image, saved.errors));
    }
    return true;
  }
  return false;
}

// "you/catdog:1" is "catdog.sif".
Path file_for(const std::string& image) {
  std::string name = Path(image).filename().string();
  name.erase(std::min(name.find(':'), name.size()));
  for (const std::string_view ending : {".tar", ".def"}) {
    name.erase(name.ends_with(ending) ? name.size() - ending.size() : name.size());
  }
  return name + ".sif";
}

Result<void> build_sif(const std::string& image, const Path& file, bool is_forced) {
  const std::string apptainer = KEDGE_TRY(find_apptainer());
  std::error_code ignored;
  if (fs::exists(file, ignored) && !is_forced) {
    return fail(ErrorKind::Usage, fmt::format("{} is there already", file.string()),
                "--force replaces it");
  }
  const Path saved = file.string() + ".saved.tar";
  const bool is_saved = !fs::exists(image, ignored) && image.find("://") == std::string::npos
                            ? KEDGE_TRY(save_local_image(image, saved))
                            : false;
  say("kedge: {} builds {}", apptainer, file.string());
  const auto built =
      run_process({.args = {apptainer, "build", "--force", file.string(),
                            jobs::source_for_apptainer(is_saved ? saved.string() : image)}});
  fs::remove(saved, ignored);
  if (!built) {
    return std::unexpected(built.error());
  }
  if (!built->is_ok()) {
    return fail(ErrorKind::Unavailable,
                fmt::format("{} build failed: {}", apptainer, built->errors),
                "where it may not run programs while building (no fakeroot), `kedge container make "
                "--no-packages` makes a definition that runs none");
  }
  return {};
}

Result<void> sif(Args args) {
  const auto arguments = KEDGE_TRY(parse_or_help(args, kSifHelp));
  if (!arguments) {
    return {};
  }
  const auto& words = arguments->positionals();
  if (words.empty() || words.size() > 2) {
    return fail(ErrorKind::Usage, "container sif needs an image, and maybe a file to write",
                "for example: kedge container sif you/catdog:1 catdog.sif");
  }
  const Path file = words.size() > 1 ? Path(words[1]) : file_for(words[0]);
  KEDGE_TRY(build_sif(words[0], file, arguments->has("--force")));
  fmt::print("{}\n", file.string());
  return {};
}

}  // namespace

int run_container(Args args) {
  const std::string word = args.empty() ? "" : args.front();
  if (word == "make" || word == "sif") {
    const auto done = word == "make" ? make(args.subspan(1)) : sif(args.subspan(1));
    return done ? kExitDone : report(done.error());
  }
  const VerbHelp help = {.usage =
                             "kedge container make [CONFIG | RUN] [options]\n       "
                             "kedge container sif IMAGE [FILE.sif]",
                         .text =
                             "make: definition files for Docker and Apptainer of what a run needs; "
                             "sif: an image as a file for Apptainer.",
                         .flags = {}};
  return help_or_unknown(args, help, {"make", "sif"});
}

}  // namespace kedge::cli
