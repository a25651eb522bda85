// What a run's surroundings were. Never the whole environment: it may hold secrets.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/utsname.h>
#include <unistd.h>

#include "core/file.h"
#include "core/host_name.h"
#include "core/process.h"
#include "core/redact.h"
#include "track/internal/identity.h"
#include "track/run.h"

namespace kedge::track {
namespace {

// Larger changes are cut: a run folder is no place for a data set somebody added to git.
constexpr std::size_t kMaxPatchBytes = std::size_t{4} << 20U;
constexpr std::size_t kMaxUntracked = 100;

constexpr std::array<const char*, 30> kJobVariables = {
    "SLURM_JOB_ID",        "SLURM_JOB_NAME",
    "SLURM_JOB_PARTITION", "SLURM_JOB_NODELIST",
    "SLURM_JOB_NUM_NODES", "SLURM_JOB_END_TIME",
    "SLURM_JOB_ACCOUNT",   "SLURM_JOB_QOS",
    "SLURM_ARRAY_JOB_ID",  "SLURM_ARRAY_TASK_ID",
    "SLURM_CLUSTER_NAME",  "SLURM_RESTART_COUNT",
    "SLURM_NTASKS",        "SLURM_PROCID",
    "SLURM_LOCALID",       "SLURM_NODEID",
    "SLURM_CPUS_PER_TASK", "SLURM_GPUS_ON_NODE",
    "SLURM_MEM_PER_NODE",  "SLURM_SUBMIT_HOST",
    "_CONDOR_JOB_AD",      "_CONDOR_MACHINE_AD",
    "_CONDOR_SLOT",        "_CONDOR_SCRATCH_DIR",
    "_CONDOR_JOB_IWD",     "CUDA_VISIBLE_DEVICES",
    "OMP_NUM_THREADS",     "RANK",
    "WORLD_SIZE",          "LOCAL_RANK"};

std::uint64_t memory_bytes() {
  const std::string total = find_in_file("/proc/meminfo", "MemTotal", ':');
  return std::strtoull(total.c_str(), nullptr, 10) * 1024;  // "16318432 kB"
}

// What git prints, or empty where there is no git, no repository or no commit.
std::string git(std::vector<std::string> args) {
  args.insert(args.begin(), "git");
  auto result = run_process({.args = std::move(args)});
  return result && result->is_ok() ? std::move(result->output) : std::string();
}

std::string git_line(std::vector<std::string> args) {
  std::string text = git(std::move(args));
  while (!text.empty() && text.back() == '\n') {
    text.pop_back();
  }
  return text;
}

nlohmann::json collect_git() {
  const std::string revision = git_line({"rev-parse", "--verify", "HEAD"});
  if (revision.empty()) {
    return nullptr;
  }
  nlohmann::json info = {{"revision", revision},
                         {"branch", git_line({"rev-parse", "--abbrev-ref", "HEAD"})}};
  std::string patch = git({"diff", "HEAD", "--no-color", "--no-ext-diff"});
  if (patch.size() > kMaxPatchBytes) {
    info["patch_note"] = fmt::format("cut: the first {} of {} bytes", kMaxPatchBytes, patch.size());
    patch.resize(patch.rfind('\n', kMaxPatchBytes - 1) + 1);
  }
  nlohmann::json untracked = nlohmann::json::array();
  std::string listing = git({"ls-files", "--others", "--exclude-standard", "--full-name"});
  std::string_view rest(listing);
  while (!rest.empty() && untracked.size() < kMaxUntracked) {
    const std::string_view name = rest.substr(0, rest.find('\n'));
    untracked.push_back(name);
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
  }
  info["dirty"] = !patch.empty() || !untracked.empty();
  info["untracked"] = std::move(untracked);
  info["patch"] = std::move(patch);
  return info;
}

nlohmann::json collect_job() {
  nlohmann::json job = nlohmann::json::object();
  for (const char* name : kJobVariables) {
    if (const char* value = std::getenv(name); value != nullptr) {
      job[name] = value;
    }
  }
  // HTCondor tells its job number only in the job's description.
  if (const char* ad = std::getenv("_CONDOR_JOB_AD"); ad != nullptr) {
    for (const char* key : {"ClusterId", "ProcId", "NumJobStarts"}) {
      if (std::string value = find_in_file(ad, key, '='); !value.empty()) {
        job[key] = value;
      }
    }
  }
  return job;
}

}  // namespace

nlohmann::json collect_environment(int argc, const char* const* argv) {
  utsname kernel{};
  ::uname(&kernel);
  std::error_code error;
  const Path folder = std::filesystem::current_path(error);
  return {{"kedge", KEDGE_VERSION},
          {"host", host_name()},
          {"user", find_user_name()},
          {"pid", ::getpid()},
          {"os", find_in_file("/etc/os-release", "PRETTY_NAME", '=')},
          {"kernel", kernel.release},
          {"machine", kernel.machine},
          {"cpu", find_in_file("/proc/cpuinfo", "model name", ':')},
          {"cores", std::thread::hardware_concurrency()},
          {"memory_bytes", memory_bytes()},
          {"args", redact_arguments({argv, argv + argc})},
          {"folder", folder.string()},
          {"git", collect_git()},
          {"job", collect_job()}};
}

}  // namespace kedge::track
