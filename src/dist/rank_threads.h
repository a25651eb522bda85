// For tests: the ranks of a group as threads of one process, over real sockets.
#pragma once

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "core/file.h"
#include "dist/meeting.h"

namespace kedge::dist {

// A port that was free a moment ago.
inline int find_free_port() {
  const OwnedFd fd(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

inline MeetingOptions meeting_of(std::int64_t rank, std::int64_t size, int port) {
  return {.place = {.rank = rank,
                    .size = size,
                    .local_rank = rank,
                    .local_size = size,
                    .host = "127.0.0.1",
                    .port = port,
                    .source = "a test"}};
}

// Runs `work` once a rank; every rank must get into the group.
inline void run_ranks(std::int64_t size, const std::function<void(ProcessGroup&)>& work) {
  const int port = find_free_port();
  std::vector<std::thread> threads;
  for (std::int64_t rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      const auto group = meet(meeting_of(rank, size, port));
      ASSERT_TRUE(group) << group.error().message;
      work(**group);
      (*group)->barrier();  // nobody leaves while another still reads
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

}  // namespace kedge::dist
