#include "core/internal/output_channel.h"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "core/file.h"
#include "core/log.h"
#include "core/pipe.h"
#include "core/result.h"

namespace kedge {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 16U;

struct Ends {
  OutputChannel channel;
  OwnedFd child;
};

Error terminal_error() {
  return {ErrorKind::Io, fmt::format("cannot make a pseudo-terminal: {}", std::strerror(errno)),
          ""};
}

// It never becomes the program's controlling terminal: that one stays ours, and with it stdin,
// Ctrl-C and job control.
Result<Ends> make_terminal(int target) {
  OwnedFd master(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  std::array<char, 128> name{};
  if (master.get() < 0 || ::grantpt(master.get()) != 0 || ::unlockpt(master.get()) != 0 ||
      ::ptsname_r(master.get(), name.data(), name.size()) != 0) {
    return std::unexpected(terminal_error());
  }
  OwnedFd slave(::open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC));
  termios modes{};
  if (slave.get() < 0 || ::tcgetattr(target, &modes) != 0) {
    return std::unexpected(terminal_error());
  }
  // Bytes pass unchanged; the terminal behind does what these flags ask for.
  modes.c_oflag &= ~static_cast<tcflag_t>(OPOST);
  modes.c_lflag &= ~static_cast<tcflag_t>(ECHO | ECHONL);
  ::tcsetattr(slave.get(), TCSANOW, &modes);
  OutputChannel channel(std::move(master), target, true);
  channel.copy_window_size();
  return Ends{std::move(channel), std::move(slave)};
}

Result<Ends> make_ends(int target) {
  if (::isatty(target) == 1) {
    auto terminal = make_terminal(target);
    if (terminal) {
      return terminal;
    }
    warn("{}; the program sees a pipe", terminal.error().message);
  }
  Pipe pipe = KEDGE_TRY(make_pipe());
  return Ends{OutputChannel(std::move(pipe.read), target, false), std::move(pipe.write)};
}

bool are_one(int a, int b) {
  struct stat first{};
  struct stat second{};
  return ::fstat(a, &first) == 0 && ::fstat(b, &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

}  // namespace

OutputChannel::OutputChannel(OwnedFd source, int target, bool is_terminal)
    : source_(std::move(source)),
      target_(target),
      is_terminal_(is_terminal),
      buffer_(kBufferBytes) {}

std::string_view OutputChannel::pass() {
  const ssize_t count = ::read(source_.get(), buffer_.data(), buffer_.size());
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) {
    return {};
  }
  // EIO is how a pseudo-terminal says that nobody has its other end open any more.
  if (count <= 0) {
    source_ = OwnedFd();
    return {};
  }
  const std::string_view bytes(buffer_.data(), static_cast<std::size_t>(count));
  if (target_ >= 0 && !write_on(bytes)) {
    source_ = OwnedFd();  // so that the program hears of it: SIGPIPE
  }
  return bytes;
}

bool OutputChannel::write_on(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(target_, bytes.data(), bytes.size());
    if (count >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno == EAGAIN) {
      pollfd ready{target_, POLLOUT, 0};
      ::poll(&ready, 1, -1);
    } else if (errno == EPIPE) {
      return false;
    } else if (errno != EINTR) {
      if (!std::exchange(has_warned_, true)) {
        warn("what the program prints cannot be passed on: {}; it runs on", std::strerror(errno));
      }
      return true;
    }
  }
  return true;
}

void OutputChannel::copy_window_size() const {
  winsize size{};
  if (is_terminal_ && is_open() && ::ioctl(target_, TIOCGWINSZ, &size) == 0) {
    ::ioctl(source_.get(), TIOCSWINSZ, &size);
  }
}

Result<std::vector<OutputChannel>> make_output_channels(ChildEnds& ends) {
  std::vector<OutputChannel> channels;
  Ends output = KEDGE_TRY(make_ends(STDOUT_FILENO));
  channels.push_back(std::move(output.channel));
  ends.output = std::move(output.child);
  if (are_one(STDOUT_FILENO, STDERR_FILENO)) {
    ends.errors = OwnedFd(::fcntl(ends.output.get(), F_DUPFD_CLOEXEC, 3));
    return channels;
  }
  Ends errors = KEDGE_TRY(make_ends(STDERR_FILENO));
  channels.push_back(std::move(errors.channel));
  ends.errors = std::move(errors.child);
  return channels;
}

Result<std::vector<OutputChannel>> make_silent_channel(ChildEnds& ends) {
  Pipe pipe = KEDGE_TRY(make_pipe());
  std::vector<OutputChannel> channels;
  channels.emplace_back(std::move(pipe.read), -1, false);
  ends.output = std::move(pipe.write);
  ends.errors = OwnedFd(::fcntl(ends.output.get(), F_DUPFD_CLOEXEC, 3));
  return channels;
}

}  // namespace kedge
