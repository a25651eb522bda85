#include "core/http_client.h"

#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/scratch_folder.h"

namespace kedge {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// A socket on a free port of this machine, which a test's thread answers by hand: what is received
// is compared with what RFC 9112 says, not with another client's idea of it.
class Listener {
 public:
  Listener() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    KEDGE_CHECK(::bind(fd_.get(), reinterpret_cast<sockaddr*>(&address), size) == 0, "no port");
    KEDGE_CHECK(::listen(fd_.get(), 8) == 0, "cannot listen");
    ::getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
  }

  std::string url(const std::string& path) const {
    return "http://127.0.0.1:" + std::to_string(port_) + path;
  }

  OwnedFd accept() const { return OwnedFd(::accept(fd_.get(), nullptr, nullptr)); }

 private:
  OwnedFd fd_;
  int port_ = 0;
};

// Reads until `count` bytes follow the head; the whole request.
std::string receive(int fd, std::size_t count) {
  std::string text;
  char buffer[4096];
  while (true) {
    const auto head = text.find("\r\n\r\n");
    if (head != std::string::npos && text.size() >= head + 4 + count) {
      return text;
    }
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got <= 0) {
      return text;
    }
    text.append(buffer, static_cast<std::size_t>(got));
  }
}

void answer(int fd, std::string_view text) {
  KEDGE_CHECK(write_all(fd, text, "socket").has_value(), "the client is gone");
}

HttpClient make_client() {
  auto client = HttpClient::make();
  KEDGE_CHECK(client.has_value(), "these tests need libcurl");
  return std::move(*client);
}

TEST(HttpClient, sends_and_receives_on_one_kept_connection) {
  const Listener listener;
  std::string first;
  std::string second;
  std::thread server([&] {
    const OwnedFd connection = listener.accept();
    first = receive(connection.get(), 0);
    answer(connection.get(), "HTTP/1.1 404 Not Found\r\nX-Two: a\r\nContent-Length: 3\r\n\r\nabc");
    second = receive(connection.get(), 5);
    answer(connection.get(), "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  });
  HttpClient client = make_client();
  const auto missing = client.send({.url = listener.url("/a?b=c"), .headers = {{"X-One", "1"}}});
  const auto posted = client.send({.method = "POST", .url = listener.url("/p"), .body = "12345"});
  server.join();
  ASSERT_TRUE(missing.has_value()) << missing.error().message;
  EXPECT_EQ(missing->status, 404);
  EXPECT_EQ(missing->body, "abc");
  EXPECT_EQ(missing->header("x-two"), "a");
  EXPECT_FALSE(missing->is_ok());
  EXPECT_THAT(first, StartsWith("GET /a?b=c HTTP/1.1\r\n"));
  EXPECT_THAT(first, HasSubstr("X-One: 1\r\n"));
  ASSERT_TRUE(posted.has_value()) << posted.error().message;
  EXPECT_TRUE(posted->is_ok());
  EXPECT_THAT(second, StartsWith("POST /p HTTP/1.1\r\n"));
  EXPECT_THAT(second, HasSubstr("Content-Length: 5\r\n"));
  EXPECT_THAT(second, testing::EndsWith("\r\n\r\n12345"));
}

TEST(HttpClient, sends_a_part_of_a_file) {
  const ScratchFolder folder;
  ASSERT_TRUE(write_file_atomic(folder / "body", "0123456789"));
  const Listener listener;
  std::string received;
  std::thread server([&] {
    const OwnedFd connection = listener.accept();
    received = receive(connection.get(), 4);
    answer(connection.get(), "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n");
  });
  HttpClient client = make_client();
  const auto put = client.send({.method = "PUT",
                                .url = listener.url("/f"),
                                .body_file = HttpBodyFile{folder / "body", 3, 4}});
  server.join();
  ASSERT_TRUE(put.has_value()) << put.error().message;
  EXPECT_EQ(put->status, 201);
  EXPECT_THAT(received, HasSubstr("Content-Length: 4\r\n"));
  EXPECT_THAT(received, testing::EndsWith("\r\n\r\n3456"));
}

TEST(HttpClient, signs_as_s3_asks_and_hides_the_secret) {
  const Listener listener;
  std::string received;
  std::thread server([&] {
    const OwnedFd connection = listener.accept();
    received = receive(connection.get(), 0);
    answer(connection.get(), "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  });
  HttpClient client = make_client();
  const auto put = client.send({.method = "PUT",
                                .url = listener.url("/bucket/key"),
                                .aws = AwsSigning{.region = "eu-west-1",
                                                  .access_key = "AKID",
                                                  .secret_key = "s3cr3t",
                                                  .session_token = "token"}});
  server.join();
  ASSERT_TRUE(put.has_value()) << put.error().message;
  EXPECT_THAT(received, HasSubstr("Authorization: AWS4-HMAC-SHA256 Credential=AKID/"));
  EXPECT_THAT(received, HasSubstr("/eu-west-1/s3/aws4_request"));
  EXPECT_THAT(received, HasSubstr("x-amz-security-token: token\r\n"));
  // SHA-256 of nothing (FIPS 180-4).
  EXPECT_THAT(received, HasSubstr("x-amz-content-sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e464"
                                  "9b934ca495991b7852b855\r\n"));
  EXPECT_THAT(received, Not(HasSubstr("s3cr3t")));
}

TEST(HttpClient, stops_at_an_answer_that_is_too_long) {
  const Listener listener;
  std::thread server([&] {
    const OwnedFd connection = listener.accept();
    receive(connection.get(), 0);
    answer(connection.get(), "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n123456789");
  });
  HttpClient client = make_client();
  const auto got = client.send({.url = listener.url("/"), .max_response_bytes = 8});
  server.join();
  ASSERT_FALSE(got.has_value());
  EXPECT_EQ(got.error().kind, ErrorKind::Corrupt);
  EXPECT_THAT(got.error().message, HasSubstr("longer than 8 bytes"));
}

TEST(HttpClient, gives_only_good_answers_to_the_callback) {
  const Listener listener;
  std::thread server([&] {
    const OwnedFd connection = listener.accept();
    receive(connection.get(), 0);
    answer(connection.get(), "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood");
    receive(connection.get(), 0);
    answer(connection.get(), "HTTP/1.1 500 No\r\nContent-Length: 3\r\n\r\nbad");
  });
  HttpClient client = make_client();
  std::string taken;
  HttpRequest request{.url = listener.url("/"), .on_body = [&](std::string_view bytes) {
                        taken += bytes;
                        return Result<void>{};
                      }};
  const auto good = client.send(request);
  const auto bad = client.send(request);
  server.join();
  ASSERT_TRUE(good.has_value() && bad.has_value());
  EXPECT_EQ(taken, "good");
  EXPECT_EQ(good->body, "");
  EXPECT_EQ(bad->body, "bad");
}

TEST(HttpClient, says_that_nothing_listens_without_the_query) {
  std::string url;
  {
    const Listener gone;
    url = gone.url("/x?token=secret");
  }
  const auto got = make_client().send({.url = url});
  ASSERT_FALSE(got.has_value());
  EXPECT_EQ(got.error().kind, ErrorKind::Unavailable);
  EXPECT_THAT(got.error().message, HasSubstr("GET http://127.0.0.1:"));
  EXPECT_THAT(got.error().message, Not(HasSubstr("secret")));
  EXPECT_THAT(got.error().hint, HasSubstr("is the server running"));
}

TEST(HttpClient, gives_up_on_a_silent_server) {
  const Listener listener;  // accepts in the kernel, answers nothing
  const auto got =
      make_client().send({.url = listener.url("/"), .timeout = std::chrono::milliseconds(50)});
  ASSERT_FALSE(got.has_value());
  EXPECT_EQ(got.error().kind, ErrorKind::Unavailable);
  EXPECT_THAT(got.error().message, HasSubstr("timed out"));
}

TEST(HttpClient, refuses_what_is_no_web_address) {
  const auto got = make_client().send({.url = "file:///etc/passwd"});
  ASSERT_FALSE(got.has_value());
  EXPECT_EQ(got.error().kind, ErrorKind::Usage);
}

}  // namespace
}  // namespace kedge
