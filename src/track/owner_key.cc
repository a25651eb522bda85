#include "track/owner_key.h"

#include <charconv>
#include <cstdint>
#include <sstream>
#include <string_view>

#include <fmt/format.h>
#include <unistd.h>

#include "core/host_name.h"
#include "core/user_folders.h"

namespace kedge::track {
namespace {

struct HostAndPort {
  std::string host = {};  // empty: this machine
  int port = 0;
};

// Names that mean the machine on which they are said; a server may listen on "any".
bool is_this_machine(std::string_view host) {
  return host.starts_with("127.") || host == "localhost" || host == "[::1]" || host == "0.0.0.0" ||
         host == "[::]";
}

// "login1.cluster.edu" is "login1"; an address in digits stays.
std::string short_name(std::string_view host) {
  const bool is_address =
      host.find_first_not_of("0123456789.") == std::string_view::npos || host.starts_with('[');
  return std::string(is_address ? host : host.substr(0, host.find('.')));
}

std::optional<HostAndPort> place_of(std::string_view url) {
  const auto scheme = url.find("://");
  if (scheme == std::string_view::npos) {
    return std::nullopt;
  }
  const bool is_tls = url.starts_with("https:");
  std::string_view rest = url.substr(scheme + 3);
  rest = rest.substr(0, rest.find('/'));
  const auto colon = rest.rfind(':');
  const bool has_port = colon != std::string_view::npos && rest.find(']', colon) == rest.npos;
  HostAndPort place{.port = is_tls ? 443 : 80};
  if (has_port) {
    const std::string_view digits = rest.substr(colon + 1);
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), place.port);
    if (parsed.ec != std::errc{} || parsed.ptr != digits.data() + digits.size()) {
      return std::nullopt;
    }
    rest = rest.substr(0, colon);
  }
  const bool is_name = !rest.empty() && rest.find_first_of("/\\\0") == std::string_view::npos;
  if (!is_name) {
    return std::nullopt;
  }
  place.host = is_this_machine(rest) ? "" : short_name(rest);
  if (place.host == short_name(host_name())) {
    place.host.clear();
  }
  return place;
}

// Whether a line of /proc/net/tcp is a socket of this user that listens on the port.
bool is_own_listener(const std::string& line, int port) {
  constexpr unsigned kListening = 0x0A;
  std::istringstream words(line);
  std::string number;
  std::string local;
  std::string remote;
  std::string state;
  std::string queues;
  std::string timer;
  std::string retransmits;
  std::uint64_t user = 0;
  words >> number >> local >> remote >> state >> queues >> timer >> retransmits >> user;
  const auto hex = [](std::string_view text) {
    unsigned value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value, 16);
    return value;
  };
  const auto colon = local.rfind(':');
  return words && colon != std::string::npos && hex(state) == kListening &&
         hex(std::string_view(local).substr(colon + 1)) == static_cast<unsigned>(port) &&
         user == ::geteuid();
}

bool is_port_own(int port) {
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::istringstream lines(read_file(table).value_or(""));
    for (std::string line; std::getline(lines, line);) {
      if (is_own_listener(line, port)) {
        return true;
      }
    }
  }
  return false;
}

Path key_file(const HostAndPort& place) {
  const std::string host = place.host.empty() ? short_name(host_name()) : place.host;
  return config_folder() / "servers" / fmt::format("{}_{}", host, place.port);
}

}  // namespace

Result<Path> owner_key_file(const std::string& url) {
  const auto place = place_of(url);
  return place ? Result<Path>(key_file(*place))
               : fail(ErrorKind::Usage, fmt::format("'{}' is no address of a server", url),
                      "it looks like http://127.0.0.1:8080");
}

std::optional<std::string> find_owner_key(const std::string& url) {
  const auto place = place_of(url);
  if (!place) {
    return std::nullopt;
  }
  const auto text = read_file(key_file(*place));
  if (!text || (place->host.empty() && !is_port_own(place->port))) {
    return std::nullopt;
  }
  return text->substr(0, text->find_first_of("\r\n"));
}

}  // namespace kedge::track
