#include "dist/network.h"

#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <unistd.h>

#include "core/file.h"

namespace kedge::dist {
namespace {

std::uint32_t host_order(const sockaddr* address) {
  return ntohl(reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr);
}

std::string render_address(std::uint32_t address) {
  const in_addr network{.s_addr = htonl(address)};
  std::string text(INET_ADDRSTRLEN, '\0');
  ::inet_ntop(AF_INET, &network, text.data(), static_cast<socklen_t>(text.size()));
  return text.c_str();
}

// Virtual drivers and loopback have no speed, and reading it is an error there.
std::int64_t read_speed(const std::string& name) {
  const auto text = read_file(Path("/sys/class/net") / name / "speed");
  return text ? std::max<std::int64_t>(-1, std::atoll(text->c_str())) : -1;
}

bool is_loopback(const Link& link) {
  return link.address.starts_with("127.");
}

}  // namespace

std::vector<Link> list_links() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) {
    return {};
  }
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, ::freeifaddrs);
  std::vector<Link> links;
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET ||
        one->ifa_netmask == nullptr || (one->ifa_flags & IFF_UP) == 0) {
      continue;
    }
    const std::uint32_t address = host_order(one->ifa_addr);
    const std::uint32_t mask = host_order(one->ifa_netmask);
    links.push_back({.name = one->ifa_name,
                     .address = render_address(address),
                     .network = address & mask,
                     .prefix = std::popcount(mask),
                     .speed = read_speed(one->ifa_name)});
  }
  std::ranges::stable_partition(links, [](const Link& link) { return !is_loopback(link); });
  return links;
}

std::optional<std::string> address_towards(const std::string& host) {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), "9", &hints, &found) != 0) {
    return std::nullopt;
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, ::freeaddrinfo);
  // Connecting a datagram socket sends nothing; it only asks the routing table.
  const OwnedFd fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_in own{};
  socklen_t size = sizeof own;
  if (fd.get() < 0 || ::connect(fd.get(), found->ai_addr, found->ai_addrlen) != 0 ||
      ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&own), &size) != 0) {
    return std::nullopt;
  }
  return render_address(ntohl(own.sin_addr.s_addr));
}

std::optional<std::string> choose_address(std::span<const RankLinks> ranks, std::size_t rank) {
  struct Network {
    std::size_t ranks = 0;
    std::int64_t speed = 0;           // of its slowest link
    bool is_preferred = false;        // on the way to rank 0
    std::string address;              // of `rank` in it
    std::set<std::string> addresses;  // of all in it
  };

  std::set<std::string> hosts;
  for (const RankLinks& one : ranks) {
    hosts.insert(one.host);
  }
  std::map<std::pair<std::uint32_t, int>, Network> networks;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    std::set<std::pair<std::uint32_t, int>> seen;
    for (const Link& link : ranks[i].links) {
      const std::pair key(link.network, link.prefix);
      if (is_loopback(link) != (hosts.size() == 1) || !seen.insert(key).second) {
        continue;
      }
      Network& network = networks[key];
      network.speed = network.ranks == 0 ? link.speed : std::min(network.speed, link.speed);
      ++network.ranks;
      network.is_preferred = network.is_preferred || link.address == ranks.back().towards;
      network.addresses.insert(link.address);
      if (i == rank) {
        network.address = link.address;
      }
    }
  }
  const Network* best = nullptr;
  for (const auto& [key, network] : networks) {
    // Bridges of containers and virtual machines have one address on all machines, and lead
    // nowhere.
    const bool has_all = network.ranks == ranks.size() && network.addresses.size() == hosts.size();
    if (has_all && (best == nullptr || std::pair(network.speed, network.is_preferred) >
                                           std::pair(best->speed, best->is_preferred))) {
      best = &network;
    }
  }
  return best == nullptr ? std::nullopt : std::optional(best->address);
}

std::string render(const RankLinks& rank) {
  nlohmann::json links = nlohmann::json::array();
  for (const Link& link : rank.links) {
    links.push_back({link.name, link.address, link.network, link.prefix, link.speed});
  }
  return nlohmann::json({{"host", rank.host}, {"towards", rank.towards}, {"links", links}}).dump();
}

Result<RankLinks> parse_rank_links(const std::string& text) {
  try {
    const auto json = nlohmann::json::parse(text);
    RankLinks rank{.host = json.at("host"), .towards = json.at("towards"), .links = {}};
    for (const nlohmann::json& one : json.at("links")) {
      rank.links.push_back({.name = one.at(0),
                            .address = one.at(1),
                            .network = one.at(2),
                            .prefix = one.at(3),
                            .speed = one.at(4)});
    }
    return rank;
  } catch (const nlohmann::json::exception& error) {
    return fail(ErrorKind::Corrupt, std::string("a rank's list of links: ") + error.what());
  }
}

}  // namespace kedge::dist
