#include "ranks/rank_notes.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace kedge::ranks {
namespace {

constexpr char kEnd = '\0';
constexpr std::size_t kMostBytes = 48 * 1024;  // of a pipe's 64 KiB

}  // namespace

void send_note(int fd, std::string_view text) {
  std::string note(text.substr(0, kMostBytes));
  note.push_back(kEnd);
  // A reader that does not read is stopped, and hears of it by the restart.
  const ssize_t ignored = ::write(fd, note.data(), note.size());
  static_cast<void>(ignored);
}

RankNotes::RankNotes(std::function<void(const std::string& text)> on_note)
    : on_note_(std::move(on_note)) {
  const char* text = std::getenv(kNotesVariable);
  if (text == nullptr) {
    return;
  }
  notes_ = OwnedFd(std::atoi(text));
  ::unsetenv(kNotesVariable);  // it is ours, and closed at the end
  stop_ = OwnedFd(::eventfd(0, EFD_CLOEXEC));
  if (stop_.get() >= 0 && ::fcntl(notes_.get(), F_SETFD, FD_CLOEXEC) == 0) {
    thread_ = std::thread([this] { listen(); });
  }
}

RankNotes::~RankNotes() {
  if (thread_.joinable()) {
    const std::uint64_t one = 1;
    const ssize_t ignored = ::write(stop_.get(), &one, sizeof one);
    static_cast<void>(ignored);
    thread_.join();
  }
}

void RankNotes::listen() {
  std::string received;
  std::array<char, 4096> block{};
  std::array<pollfd, 2> fds = {{{notes_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}}};
  for (;;) {
    if (::poll(fds.data(), fds.size(), -1) < 0 && errno == EINTR) {
      continue;
    }
    if (fds[1].revents != 0) {
      return;
    }
    const ssize_t count = ::read(notes_.get(), block.data(), block.size());
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) {
      return;  // the supervisor is gone, and this process with it
    }
    received.append(block.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    for (std::size_t end = received.find(kEnd); end != std::string::npos;
         end = received.find(kEnd)) {
      on_note_(received.substr(0, end));
      received.erase(0, end + 1);
    }
  }
}

}  // namespace kedge::ranks
