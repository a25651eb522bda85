// JSON objects over TCP, one a line: what the supervisors of several machines say to each other.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/file.h"
#include "core/result.h"

namespace kedge::ranks {

class LineSocket {
 public:
  explicit LineSocket(OwnedFd fd);

  // Tries until `timeout`, because the other side may not listen yet.
  static Result<LineSocket> connect(const std::string& host, int port,
                                    std::chrono::milliseconds timeout);

  bool is_open() const { return fd_.get() >= 0; }

  int fd() const { return fd_.get(); }

  // What cannot be sent closes the socket: the caller sees it on the next look.
  void send(const nlohmann::json& message);

  // All whole messages that have come, without waiting. What is no JSON closes the socket.
  std::vector<nlohmann::json> receive();

  void close() { fd_ = OwnedFd(); }

  // The address of this end, and of the other.
  std::string own_address() const;
  std::string peer_address() const;

 private:
  OwnedFd fd_;
  std::string received_;
};

// A listening socket on all interfaces; Unavailable when the port is taken.
Result<OwnedFd> listen_on(int port);

// The next connection, or nothing.
std::optional<LineSocket> accept_on(int fd);

// Whether `host` is a name or address of this machine.
bool is_this_machine(const std::string& host);

}  // namespace kedge::ranks
