#include "track/internal/identity.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include "core/file.h"
#include "core/host_name.h"
#include "core/inside_job.h"

namespace kedge::track {
namespace {

std::string find_value(std::string_view text, std::string_view key, char separator) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::size_t at = line.find(separator);
    if (at == std::string_view::npos) {
      continue;
    }
    std::string_view name = line.substr(0, at);
    std::string_view value = line.substr(at + 1);
    while (!name.empty() && std::isspace(static_cast<unsigned char>(name.back())) != 0) {
      name.remove_suffix(1);
    }
    while (!value.empty() && (value.front() == ' ' || value.front() == '"')) {
      value.remove_prefix(1);
    }
    while (!value.empty() && value.back() == '"') {
      value.remove_suffix(1);
    }
    if (name == key) {
      return std::string(value);
    }
  }
  return {};
}

std::string read_line(const Path& path) {
  const auto text = read_file(path);
  return text ? text->substr(0, text->find('\n')) : std::string();
}

std::int64_t to_integer(std::string_view text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// The start time is field 22 of /proc/<pid>/stat. Field 2, the program's name in parentheses, may
// hold spaces and parentheses itself. A zombie (state Z or X) has ended.
std::optional<std::uint64_t> find_start_ticks(std::int64_t pid) {
  const auto text = read_file(fmt::format("/proc/{}/stat", pid));
  if (!text) {
    return std::nullopt;
  }
  const std::size_t name_end = text->rfind(')');
  if (name_end == std::string::npos || text->size() < name_end + 3) {
    return std::nullopt;
  }
  std::string_view rest = std::string_view(*text).substr(name_end + 2);
  if (rest.front() == 'Z' || rest.front() == 'X') {
    return std::nullopt;
  }
  constexpr int kFieldsBefore = 19;
  for (int i = 0; i < kFieldsBefore; ++i) {
    rest.remove_prefix(std::min(rest.size(), rest.find(' ') + 1));
  }
  return static_cast<std::uint64_t>(to_integer(rest));
}

}  // namespace

std::string find_in_file(const Path& path, std::string_view key, char separator) {
  const auto text = read_file(path);
  return text ? find_value(*text, key, separator) : std::string();
}

std::string find_user_name() {
  // Not getpwuid(): runs may begin on several threads.
  std::array<char, 4096> texts{};
  passwd entry{};
  passwd* found = nullptr;
  ::getpwuid_r(::getuid(), &entry, texts.data(), texts.size(), &found);
  return found == nullptr ? std::to_string(::getuid()) : found->pw_name;
}

ProcessIdentity identify_this_process() {
  ProcessIdentity identity;
  identity.host = host_name();
  identity.machine_id = read_line("/etc/machine-id");
  identity.boot_id = read_line("/proc/sys/kernel/random/boot_id");
  std::error_code ignored;
  identity.pid_namespace = std::filesystem::read_symlink("/proc/self/ns/pid", ignored).string();
  identity.pid = ::getpid();
  identity.start_ticks = find_start_ticks(identity.pid).value_or(0);
  identity.user = find_user_name();
  if (auto job = find_job_name(find_environment_variable)) {
    identity.job = std::move(job->text);
    identity.job_starts = job->starts;
  }
  return identity;
}

Life judge_life(const ProcessIdentity& other, const ProcessIdentity& here) {
  // A scheduler starts a job again only after its last start has ended.
  if (!other.job.empty() && other.job == here.job && other.job_starts < here.job_starts) {
    return Life::Dead;
  }
  const bool is_same_machine = !other.host.empty() && other.host == here.host &&
                               other.machine_id == here.machine_id && !other.boot_id.empty() &&
                               !here.boot_id.empty();
  if (!is_same_machine) {
    return Life::Unknown;
  }
  if (other.boot_id != here.boot_id) {
    return Life::Dead;
  }
  if (other.pid_namespace.empty() || other.pid_namespace != here.pid_namespace) {
    return Life::Unknown;
  }
  return find_start_ticks(other.pid) == other.start_ticks ? Life::Alive : Life::Dead;
}

}  // namespace kedge::track
