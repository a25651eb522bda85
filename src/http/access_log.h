// The access log: a line for each request, in a file that others may rotate.
//   2026-11-15T17:39:06.123Z 127.0.0.1 ann POST /api/v1/runs/search 200 59220 3.6
// time (UTC), address, user or "-", method, path, status, bytes of the body ("-" where they are not
// known before), milliseconds until the answer was written. Queries, bodies and headers are left
// out, and so are keys that are part of a path: the log holds no secrets.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "core/file.h"
#include "core/result.h"
#include "http/http.h"

namespace kedge::http {

class AccessLog {
 public:
  // Appends to the file, which is made when it is not there.
  static Result<std::unique_ptr<AccessLog>> open(const Path& file);

  struct Entry {
    std::string peer;
    std::string user;
    std::string method;
    std::string path;  // as loggable_path() makes it
    int status = 0;
    std::optional<std::uint64_t> bytes = {};
    std::chrono::microseconds took = {};
  };

  // For any thread. A line that cannot be written is lost, and said once.
  void write(const Entry& entry);

  // Goes on in a file of the same name: the old one may have been renamed.
  Result<void> reopen();

 private:
  explicit AccessLog(Path file) : path_(std::move(file)) {}

  Path path_;
  std::mutex mutex_;
  OwnedFd file_;
  bool has_failed_ = false;
};

// The path without keys and in one word: blanks and control characters as %20.
std::string loggable_path(const Request& request);

}  // namespace kedge::http
