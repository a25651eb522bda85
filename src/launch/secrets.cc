#include "launch/secrets.h"

#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launch/job_spec.h"
#include "launch/shell_text.h"

namespace kedge::launch {
namespace {

// Shorter values are switches ("1", "true") and would turn a log into stars.
constexpr std::size_t kLeastSecretBytes = 8;

}  // namespace

std::map<std::string, std::string> find_secrets() {
  std::map<std::string, std::string> secrets;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos && is_secret_name(text.substr(0, equals))) {
      secrets.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  return secrets;
}

Result<void> write_secrets(const Path& folder) {
  const auto secrets = find_secrets();
  if (secrets.empty()) {
    return {};
  }
  std::string text;
  for (const auto& [name, value] : secrets) {
    text += fmt::format("export {}={}\n", name, quote_for_shell(value));
  }
  const Path path = folder / "secrets.sh";
  return replace_file(path, [&](const Path& beside) -> Result<void> {
    const OwnedFd fd(::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (fd.get() < 0 || ::fchmod(fd.get(), 0600) != 0) {
      return std::unexpected(io_error("cannot make", path, errno));
    }
    KEDGE_TRY(write_all(fd.get(), text, path));
    return ::fsync(fd.get()) == 0 ? Result<void>()
                                  : std::unexpected(io_error("cannot sync", path, errno));
  });
}

void remove_secrets(const Path& folder) {
  std::error_code ignored;
  std::filesystem::remove(folder / "secrets.sh", ignored);
}

std::vector<std::string> without_secrets(std::vector<std::string> command) {
  std::vector<std::string> words = {"env"};
  for (const auto& [name, value] : find_secrets()) {
    words.emplace_back("-u");
    words.push_back(name);
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

}  // namespace kedge::launch
