// The input of a fuzzer as a file in memory, for readers that take a path.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <sys/mman.h>
#include <unistd.h>

#include "core/file.h"
#include "core/result.h"

namespace kedge {

class InputFile {
 public:
  InputFile() : fd_(::memfd_create("kedge-fuzz", MFD_CLOEXEC)) {
    KEDGE_CHECK(fd_.get() >= 0, "fuzzers need memfd_create()");
    path_ = "/proc/self/fd/" + std::to_string(fd_.get());
  }

  void fill(std::string_view bytes) {
    KEDGE_CHECK(::ftruncate(fd_.get(), 0) == 0 && ::lseek(fd_.get(), 0, SEEK_SET) == 0,
                "a file in memory can be emptied");
    KEDGE_CHECK(write_all(fd_.get(), bytes, path_).has_value(), "and filled");
  }

  const Path& path() const { return path_; }

 private:
  OwnedFd fd_;
  Path path_;
};

inline std::string_view as_text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// The part of `input` before the first zero byte, taken off it; all of it where there is none.
inline std::string_view take_until_zero(std::string_view& input) {
  const std::string_view part = input.substr(0, input.find('\0'));
  input.remove_prefix(std::min(input.size(), part.size() + 1));
  return part;
}

}  // namespace kedge
