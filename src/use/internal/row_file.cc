#include "use/internal/row_file.h"

#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace kedge::use {
namespace {

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = text.find('\n', start);
    lines.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return lines;
}

}  // namespace

Result<RowFile> RowFile::open(const Path& path, const std::string& header) {
  RowFile file;
  file.path_ = path;
  std::string text;
  // Pipes, terminals and devices have no rows to keep.
  std::error_code error;
  const bool is_kept = std::filesystem::is_regular_file(path, error);
  if (is_kept) {
    text = KEDGE_TRY(read_file(path));
  }
  text.resize(text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1);
  file.existing_ = split_lines(text);
  if (!header.empty() && !file.existing_.empty()) {
    if (file.existing_.front() != header) {
      return fail(ErrorKind::Usage,
                  fmt::format("{} exists and holds something else: its first line is not '{}'",
                              path.string(), header),
                  "choose another output, or remove it");
    }
    file.existing_.erase(file.existing_.begin());
  }
  file.fd_ = OwnedFd(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  const auto size = static_cast<off_t>(text.size());
  if (file.fd_.get() < 0 || (is_kept && (::ftruncate(file.fd_.get(), size) != 0 ||
                                         ::lseek(file.fd_.get(), 0, SEEK_END) < 0))) {
    return std::unexpected(io_error("cannot write", path, errno));
  }
  if (text.empty() && !header.empty()) {
    KEDGE_TRY(file.append({header}));
  }
  return file;
}

Result<RowFile> RowFile::open_stdout(const std::string& header) {
  RowFile file;
  file.path_ = "standard output";
  file.fd_ = OwnedFd(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0));
  if (file.fd_.get() < 0) {
    return std::unexpected(io_error("cannot write", file.path_, errno));
  }
  if (!header.empty()) {
    KEDGE_TRY(file.append({header}));
  }
  return file;
}

Result<void> RowFile::append(const std::vector<std::string>& rows) {
  std::string text;
  for (const std::string& row : rows) {
    text += row;
    text += '\n';
  }
  KEDGE_TRY(write_all(fd_.get(), text, path_));
  if (::fdatasync(fd_.get()) != 0 && errno != EINVAL) {  // EINVAL: a pipe or a terminal
    return std::unexpected(io_error("cannot sync", path_, errno));
  }
  return {};
}

}  // namespace kedge::use
