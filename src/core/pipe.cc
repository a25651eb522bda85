#include "core/pipe.h"

#include <array>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace kedge {

Result<Pipe> make_pipe(int flags) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | flags) != 0) {
    return fail(ErrorKind::Io, fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  }
  return Pipe{.read = OwnedFd(ends[0]), .write = OwnedFd(ends[1])};
}

}  // namespace kedge
