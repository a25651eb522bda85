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
#include "core/inside_job.h"
#include "core/process.h"
#include "core/redact.h"
#include "track/internal/identity.h"
#include "track/run.h"

namespace kedge::track {
namespace {

// Larger changes are cut: a run folder is no place for a data set somebody added to git.
constexpr std::size_t kMaxPatchBytes = std::size_t{4} << 20U;
constexpr std::size_t kMaxUntracked = 100;

// Besides what the scheduler says.
constexpr auto kJobVariables = std::to_array<const char*>(
    {"CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "RANK", "WORLD_SIZE", "LOCAL_RANK"});

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
  nlohmann::json job = describe_job(find_environment_variable);
  for (const char* name : kJobVariables) {
    if (const char* value = std::getenv(name); value != nullptr) {
      job[name] = value;
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
