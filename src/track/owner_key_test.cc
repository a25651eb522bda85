#include "track/owner_key.h"

#include <cstdlib>
#include <string>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/host_name.h"
#include "core/scratch_folder.h"

namespace kedge::track {
namespace {

constexpr uid_t kNobody = 65534;

// A socket that listens on a free port of this machine.
class Listening {
 public:
  Listening() : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const place = reinterpret_cast<sockaddr*>(&address);
    KEDGE_CHECK(::bind(fd_.get(), place, size) == 0 && ::listen(fd_.get(), 1) == 0 &&
                    ::getsockname(fd_.get(), place, &size) == 0,
                "cannot listen");
    port_ = ntohs(address.sin_port);
  }

  int port() const { return port_; }

 private:
  OwnedFd fd_;
  int port_ = 0;
};

class OwnerKey : public testing::Test {
 protected:
  void SetUp() override { ::setenv("XDG_CONFIG_HOME", folder_.path().c_str(), 1); }

  void TearDown() override { ::unsetenv("XDG_CONFIG_HOME"); }

  static void put_key(const std::string& url) {
    const Path file = owner_key_file(url).value();
    ASSERT_TRUE(make_private_dir(file.parent_path()));
    ASSERT_TRUE(write_private_file(file, "kedge_0123\n"));
  }

  ScratchFolder folder_;
};

TEST_F(OwnerKey, is_found_by_every_name_of_this_machine) {
  const Listening server;
  put_key(fmt::format("http://127.0.0.1:{}", server.port()));
  for (const std::string& host :
       {std::string("127.0.0.1"), std::string("localhost"), std::string("[::1]"),
        std::string("0.0.0.0"), host_name(), host_name() + ".example"}) {
    EXPECT_EQ(find_owner_key(fmt::format("http://{}:{}", host, server.port())), "kedge_0123")
        << host;
  }
  EXPECT_EQ(find_owner_key(fmt::format("http://127.0.0.1:{}", server.port() ^ 1)), std::nullopt);
  EXPECT_EQ(find_owner_key(fmt::format("http://elsewhere:{}", server.port())), std::nullopt);
}

TEST_F(OwnerKey, of_another_machine_is_found_by_its_name) {
  put_key("http://login1.cluster.example:8080");
  EXPECT_EQ(find_owner_key("http://login1:8080/"), "kedge_0123");
  EXPECT_EQ(find_owner_key("https://login1:8443"), std::nullopt);
}

TEST_F(OwnerKey, is_not_sent_to_a_port_that_nobody_or_somebody_else_holds) {
  put_key("http://127.0.0.1:9");
  EXPECT_EQ(find_owner_key("http://127.0.0.1:9"), std::nullopt);
  if (::geteuid() != 0) {
    GTEST_SKIP() << "only root can be somebody else";
  }
  const auto is_found_by_stranger = [] {
    const pid_t child = ::fork();
    if (child == 0) {
      // The socket belongs to who made it: here another user asks who holds the port.
      KEDGE_CHECK(::seteuid(kNobody) == 0, "cannot be nobody");
      const Listening foreign;
      KEDGE_CHECK(::seteuid(0) == 0, "cannot be root again");
      const std::string url = fmt::format("http://127.0.0.1:{}", foreign.port());
      put_key(url);
      ::_exit(find_owner_key(url) ? 1 : 0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WEXITSTATUS(status);
  };
  EXPECT_EQ(is_found_by_stranger(), 0);
}

TEST_F(OwnerKey, has_no_place_for_what_is_no_address) {
  for (const char* url : {"", "127.0.0.1:80", "http://", "http://x:port", "http://a\\b:80"}) {
    EXPECT_FALSE(owner_key_file(url).has_value()) << url;
    EXPECT_EQ(find_owner_key(url), std::nullopt) << url;
  }
}

}  // namespace
}  // namespace kedge::track
