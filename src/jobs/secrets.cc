#include "jobs/secrets.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <set>
#include <sstream>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jobs/shell_text.h"

namespace kedge::jobs {
namespace {

// Shorter values are switches ("1", "true") and would turn a log into stars.
constexpr std::size_t kLeastSecretBytes = 8;

// Inside a job: the names of what it was handed, which need not look secret.
constexpr const char* kHandedNames = "KEDGE_HIDDEN";

std::string value_of(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? "" : value;
}

bool is_in(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

std::vector<std::string> handed_names() {
  std::istringstream words(value_of(kHandedNames));
  return {std::istream_iterator<std::string>(words), {}};
}

// Never readable by others, not even while it is being made: no umask widens the mode, and a file
// that is there already is not written to.
Result<void> write_private(const Path& path, std::string_view text) {
  return replace_file(path, [&](const Path& beside) -> Result<void> {
    ::unlink(beside.c_str());
    const OwnedFd fd(
        ::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    // A umask may have taken the owner's own rights.
    if (fd.get() < 0 || ::fchmod(fd.get(), 0600) != 0) {
      return std::unexpected(io_error("cannot make", path, errno));
    }
    KEDGE_TRY(write_all(fd.get(), text, path));
    return ::fsync(fd.get()) == 0 ? Result<void>()
                                  : std::unexpected(io_error("cannot sync", path, errno));
  });
}

}  // namespace

std::vector<std::string> tracker_keys() {
  return {"KEDGE_TOKEN", "WANDB_API_KEY", "MLFLOW_TRACKING_TOKEN", "MLFLOW_TRACKING_PASSWORD"};
}

std::vector<std::string> secrets_of(const JobSpec& spec) {
  std::vector<std::string> names = spec.wants.secrets;
  std::ranges::copy_if(spec.keys, std::back_inserter(names),
                       [&](const std::string& name) { return !is_in(spec.wants.secrets, name); });
  return names;
}

Result<void> check_secrets(const JobSpec& spec) {
  for (const std::string& name : spec.wants.secrets) {
    if (value_of(name).empty()) {
      return fail(ErrorKind::Usage,
                  fmt::format("job.secrets names {}, which is not set in this shell", name),
                  fmt::format("export {} before submitting, or take it out of job.secrets", name));
    }
  }
  return {};
}

std::vector<std::string> secrets_kept_back(const std::vector<std::string>& handed) {
  std::vector<std::string> names;
  for (const auto& [name, value] : find_secrets()) {
    if (!value.empty() && !is_in(handed, name)) {
      names.push_back(name);
    }
  }
  return names;
}

std::string secrets_file_name(std::int64_t submission) {
  return fmt::format("secrets-{}.sh", submission);
}

Result<void> write_secrets(const Path& folder, std::int64_t submission,
                           const std::vector<std::string>& names) {
  std::string text;
  std::vector<std::string> handed;
  for (const std::string& name : names) {
    if (const std::string value = value_of(name); !value.empty()) {
      text += export_line(name, value);
      handed.push_back(name);
    }
  }
  if (handed.empty()) {
    return {};
  }
  text += export_line(kHandedNames, fmt::format("{}", fmt::join(handed, " ")));
  return write_private(folder / secrets_file_name(submission), text);
}

void remove_secrets(const Path& folder, std::int64_t submission) {
  std::error_code ignored;
  std::filesystem::remove(folder / secrets_file_name(submission), ignored);
}

void remove_all_secrets(const Path& folder) {
  std::error_code ignored;
  // Also one that a crash left half written beside its name.
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    if (entry.path().filename().string().starts_with("secrets")) {
      std::filesystem::remove(entry.path(), ignored);
    }
  }
}

std::map<std::string, std::string> find_secrets() {
  std::map<std::string, std::string> secrets;
  const std::vector<std::string> handed = handed_names();
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const std::size_t equals = text.find('=');
    const std::string_view name = text.substr(0, equals);
    if (equals != std::string_view::npos && (is_secret_name(name) || is_in(handed, name))) {
      secrets.emplace(name, text.substr(equals + 1));
    }
  }
  return secrets;
}

std::vector<std::string> without_secrets(std::vector<std::string> command,
                                         const std::vector<std::string>& names) {
  std::set<std::string> unset(names.begin(), names.end());
  for (const auto& [name, value] : find_secrets()) {
    unset.insert(name);
  }
  std::vector<std::string> words = {"env"};
  for (const std::string& name : unset) {
    words.insert(words.end(), {"-u", name});
  }
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

std::string hide_secrets(std::string_view line, const std::map<std::string, std::string>& secrets) {
  std::string text(line);
  for (const auto& [name, value] : secrets) {
    if (value.size() < kLeastSecretBytes) {
      continue;
    }
    for (std::size_t at = text.find(value); at != std::string::npos; at = text.find(value, at)) {
      text.replace(at, value.size(), "***");
    }
  }
  return text;
}

}  // namespace kedge::jobs
