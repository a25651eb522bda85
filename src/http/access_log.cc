#include "http/access_log.h"

#include <cerrno>
#include <chrono>
#include <iterator>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "core/log.h"
#include "core/time_text.h"

namespace kedge::http {
namespace {

std::string time_text(std::chrono::system_clock::time_point now) {
  return render_time_ms(
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count());
}

void append_word(std::string& out, std::string_view text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= 0x20 || byte == 0x7F || c == '%') {
      fmt::format_to(std::back_inserter(out), "%{:02X}", byte);
    } else {
      out += c;
    }
  }
}

}  // namespace

std::string loggable_path(const Request& request) {
  std::string path = request.path;
  for (const auto& [name, value] : request.parameters) {
    if (const auto at = path.find(value); name == "token" && at != std::string::npos) {
      path.replace(at, value.size(), "***");
    }
  }
  std::string word;
  append_word(word, path);
  return word;
}

Result<std::unique_ptr<AccessLog>> AccessLog::open(const Path& file) {
  std::unique_ptr<AccessLog> log(new AccessLog(file));
  KEDGE_TRY(log->reopen());
  return log;
}

Result<void> AccessLog::reopen() {
  OwnedFd file(::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640));
  if (file.get() < 0) {
    return std::unexpected(io_error("open", path_, errno));
  }
  const std::lock_guard lock(mutex_);
  file_ = std::move(file);
  has_failed_ = false;
  return {};
}

void AccessLog::write(const Entry& entry) {
  std::string line = time_text(std::chrono::system_clock::now());
  line += ' ';
  append_word(line, entry.peer.empty() ? "-" : entry.peer);
  line += ' ';
  append_word(line, entry.user.empty() ? "-" : entry.user);
  fmt::format_to(std::back_inserter(line), " {} {} {} {} {:.1f}\n",
                 entry.method.empty() ? "-" : entry.method, entry.path.empty() ? "-" : entry.path,
                 entry.status, entry.bytes ? std::to_string(*entry.bytes) : "-",
                 static_cast<double>(entry.took.count()) / 1000);
  const std::lock_guard lock(mutex_);
  // One write a line: with O_APPEND it is whole, whoever else writes there.
  const bool is_written =
      ::write(file_.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size());
  if (!is_written && !std::exchange(has_failed_, true)) {
    warn("the access log {} cannot be written; lines are lost", path_.string());
  }
}

}  // namespace kedge::http
