#include "http/listener.h"

#include <array>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/scratch_folder.h"

namespace kedge::http {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

// A socket that says exactly what a test wants it to say.
class Client {
 public:
  explicit Client(int port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    KEDGE_CHECK(::connect(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0,
                "the listener does not listen");
  }

  void send(std::string_view text) {
    while (!text.empty()) {
      const ssize_t count = ::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL);
      if (count <= 0) {
        return;  // closed by the server; what it said is still to be read
      }
      text.remove_prefix(static_cast<std::size_t>(count));
    }
  }

  // Waits for so long; false when the server has closed.
  bool is_open_for(std::chrono::milliseconds time) {
    pollfd entry{.fd = fd_.get(), .events = POLLIN, .revents = 0};
    return ::poll(&entry, 1, static_cast<int>(time.count())) == 0 || receive();
  }

  bool says_within(std::chrono::milliseconds time) {
    pollfd entry{.fd = fd_.get(), .events = POLLIN, .revents = 0};
    return ::poll(&entry, 1, static_cast<int>(time.count())) != 0;
  }

  // Everything until the server closes.
  std::string rest() {
    while (receive()) {
    }
    return std::exchange(text_, {});
  }

  // Everything up to and with `end`, which must come.
  std::string until(std::string_view end) {
    while (text_.find(end) == std::string::npos) {
      if (!receive()) {
        return std::exchange(text_, {}) + "<closed>";
      }
    }
    const auto size = text_.find(end) + end.size();
    std::string part = text_.substr(0, size);
    text_.erase(0, size);
    return part;
  }

 private:
  bool receive() {
    std::array<char, 65536> buffer;
    const ssize_t count = ::read(fd_.get(), buffer.data(), buffer.size());
    if (count > 0) {
      text_.append(buffer.data(), static_cast<std::size_t>(count));
    }
    return count > 0;
  }

  OwnedFd fd_;
  std::string text_;
};

class ListenerTest : public testing::Test {
 protected:
  void start(ListenOptions options = {}, Gate gate = {}) {
    router_.add(Method::Post, "/echo", {.max_body_bytes = 100'000}, [](const Request& request) {
      Response response{.body = "<" + request.body + ">"};
      return Result<Response>(std::move(response));
    });
    router_.add(Method::Get, "/hello/{name}", {}, [](const Request& request) {
      return Result<Response>(Response{.body = "hello " + request.parameter("name")});
    });
    router_.add(Method::Get, "/throws", {},
                [](const Request&) -> Result<Response> { throw std::runtime_error("a mistake"); });
    router_.add(Method::Put, "/file", {.max_body_bytes = 5'000'000, .is_spooled = true},
                [](const Request& request) -> Result<Response> {
                  return Response{
                      .body = fmt::format("{} bytes", KEDGE_TRY(size_of_file(*request.body_file)))};
                });
    router_.add(Method::Get, "/pieces", {}, [](const Request&) {
      auto count = std::make_shared<int>(0);
      return Result<Response>(Response{.body = [count](std::string& chunk) -> Result<bool> {
        chunk += fmt::format("piece {};", ++*count);
        return *count < 3;
      }});
    });
    router_.add_quick(Method::Post, "/quick", {}, [this](Request&& request, Answer answer) {
      quick(std::move(request), std::move(answer));
    });
    options.spool_folder = folder_.path();
    auto listener = Listener::start(router_, std::move(gate), options);
    ASSERT_TRUE(listener.has_value()) << listener.error().message;
    listener_ = std::move(*listener);
  }

  // Answers in the opposite order, when three have come.
  void quick(Request&& request, Answer answer) {
    waiting_.emplace_back(std::move(request.body), std::move(answer));
    if (waiting_.size() == 3) {
      while (!waiting_.empty()) {
        waiting_.back().second(Response{.body = waiting_.back().first});
        waiting_.pop_back();
      }
    }
  }

  Client connect() { return Client(listener_->port()); }

  ScratchFolder folder_;
  Router router_;
  std::vector<std::pair<std::string, Answer>> waiting_;
  std::unique_ptr<Listener> listener_;
};

TEST_F(ListenerTest, answers_many_requests_on_one_connection) {
  start();
  Client client = connect();
  client.send("GET /hello/a HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(client.until("hello a"), StartsWith("HTTP/1.1 200 OK\r\n"));
  client.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc");
  EXPECT_THAT(client.until("<abc>"), HasSubstr("Content-Length: 5\r\n"));
  client.send("GET /hello/z HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(client.rest(),
              testing::AllOf(HasSubstr("Connection: close\r\n"), EndsWith("hello z")));
}

TEST_F(ListenerTest, keeps_the_order_of_pipelined_requests) {
  start();
  Client client = connect();
  std::string text;
  for (const char* body : {"1", "2", "3"}) {
    text += fmt::format("POST /quick HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n{}", body);
  }
  client.send(text + "GET /hello/4 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  const std::string answers = client.rest();
  EXPECT_LT(answers.find("\r\n\r\n1HTTP"), answers.find("\r\n\r\n2HTTP"));
  EXPECT_LT(answers.find("\r\n\r\n2HTTP"), answers.find("\r\n\r\n3HTTP"));
  EXPECT_THAT(answers, EndsWith("hello 4"));
}

TEST_F(ListenerTest, reads_chunked_bodies_byte_by_byte) {
  start();
  Client client = connect();
  for (const char c :
       std::string("POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
                   "Connection: close\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n")) {
    client.send(std::string(1, c));
  }
  EXPECT_THAT(client.rest(), EndsWith("<abcde>"));
}

TEST_F(ListenerTest, sends_pieces_as_chunks) {
  start();
  Client client = connect();
  client.send("GET /pieces HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(client.until("0\r\n\r\n"),
              EndsWith("8\r\npiece 1;\r\n8\r\npiece 2;\r\n8\r\npiece 3;\r\n0\r\n\r\n"));
  Client old = connect();
  old.send("GET /pieces HTTP/1.0\r\n\r\n");
  EXPECT_THAT(old.rest(), EndsWith("\r\n\r\npiece 1;piece 2;piece 3;"));
}

TEST_F(ListenerTest, says_continue_before_a_body_it_wants) {
  start();
  Client client = connect();
  client.send(
      "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("ok");
  EXPECT_THAT(client.until("<ok>"), StartsWith("HTTP/1.1 200 OK"));
  Client large = connect();
  large.send(
      "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 100001\r\n"
      "Expect: 100-continue\r\n\r\n");
  EXPECT_THAT(large.rest(), StartsWith("HTTP/1.1 413 "));
}

TEST_F(ListenerTest, refuses_what_is_too_long) {
  start({.max_head_bytes = 1000});
  Client head = connect();
  head.send("GET / HTTP/1.1\r\nX: " + std::string(2000, 'x') + "\r\n\r\n");
  EXPECT_THAT(head.rest(), StartsWith("HTTP/1.1 431 "));
  Client body = connect();
  body.send("POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
  for (int i = 0; i < 3; ++i) {
    body.send("c350\r\n" + std::string(50'000, 'x') + "\r\n");
  }
  EXPECT_THAT(body.rest(), StartsWith("HTTP/1.1 413 "));
}

TEST_F(ListenerTest, answers_what_is_not_http_and_closes) {
  start();
  for (const char* text : {"\x16\x03\x01 tls\r\n\r\n", "GET /hello/%zz HTTP/1.1\r\nHost: x\r\n\r\n",
                           "GET /a/../../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n",
                           "POST /echo HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
                           "POST /echo HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
                           "GET /hello/a HTTP/9.9\r\n\r\n"}) {
    Client client = connect();
    client.send(text);
    EXPECT_THAT(client.rest(), StartsWith("HTTP/1.1 400 ")) << text;
  }
}

TEST_F(ListenerTest, knows_head_options_and_unknown_paths) {
  start();
  Client client = connect();
  client.send("HEAD /hello/abc HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(client.until("\r\n\r\n"), HasSubstr("Content-Length: 9\r\n"));
  client.send("DELETE /echo HTTP/1.1\r\nHost: x\r\n\r\n");
  const std::string refused = client.until("}}");
  EXPECT_THAT(refused, StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(refused, HasSubstr("Allow: OPTIONS, POST\r\n"));
  client.send("GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(client.until("}}"), HasSubstr("\"code\":\"not_found\""));
  client.send("OPTIONS /hello/x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(client.rest(), HasSubstr("Allow: OPTIONS, GET, HEAD\r\n"));
}

TEST_F(ListenerTest, outlives_a_handler_that_throws) {
  start();
  Client client = connect();
  client.send("GET /throws HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(client.until("}}"), HasSubstr("a mistake"));
  client.send("GET /hello/a HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(client.until("hello a"), StartsWith("HTTP/1.1 200 OK"));
}

TEST_F(ListenerTest, spools_long_bodies_and_removes_them) {
  start();
  Client client = connect();
  client.send("PUT /file HTTP/1.1\r\nHost: x\r\nContent-Length: 3000000\r\n\r\n");
  client.send(std::string(3'000'000, 'x'));
  EXPECT_THAT(client.until("bytes"), EndsWith("3000000 bytes"));
  Client cut = connect();
  cut.send("PUT /file HTTP/1.1\r\nHost: x\r\nContent-Length: 3000000\r\n\r\nabc");
  cut = connect();
  listener_->stop();
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(ListenerTest, cuts_off_who_is_too_slow) {
  start({.slow_timeout = std::chrono::milliseconds(50)});
  Client silent = connect();
  Client head = connect();
  head.send("GET /hello/a HT");
  Client body = connect();
  body.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc");
  EXPECT_EQ(head.rest(), "");
  EXPECT_EQ(body.rest(), "");
}

TEST_F(ListenerTest, cuts_off_who_sends_a_byte_now_and_then) {
  start({.slow_timeout = std::chrono::milliseconds(100)});
  const std::string head = "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 90000\r\n\r\n";
  const std::string next = "GET /hello/a HTTP/1.1\r\nHost: x\r\n\r\nGET /hel";
  for (const std::string& beginning : {std::string("G"), head, next}) {
    Client client = connect();
    client.send(beginning);
    int count = 0;
    while (client.is_open_for(std::chrono::milliseconds(20)) && count < 500) {
      client.send("x");
      ++count;
    }
    EXPECT_LT(count, 500) << beginning;
  }
}

TEST_F(ListenerTest, asks_the_gate_before_the_body) {
  start({}, {.check = [](Request& request, const Route* route) -> std::optional<Response> {
          request.caller.name = "somebody";
          return route != nullptr && request.headers.find("x-key") != "k"
                     ? std::optional(error_response(401, "who are you?"))
                     : std::nullopt;
        }});
  Client client = connect();
  client.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 99999\r\n\r\n");
  EXPECT_THAT(client.rest(), StartsWith("HTTP/1.1 401 "));
  Client known = connect();
  known.send("GET /hello/a HTTP/1.1\r\nHost: x\r\nX-Key: k\r\n\r\n");
  EXPECT_THAT(known.until("hello a"), StartsWith("HTTP/1.1 200 "));
}

TEST_F(ListenerTest, refuses_in_the_words_of_the_route) {
  const auto refuse = [](int status, const Refusal& refusal) {
    return Response{.status = status, .body = "no: " + refusal.message};
  };
  router_.add(Method::Post, "/other", {.max_body_bytes = 5, .refuse = refuse},
              [](const Request&) -> Result<Response> {
                return fail(ErrorKind::NotFound, "there is none");
              });
  start();
  Client client = connect();
  client.send("POST /other HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
  EXPECT_THAT(client.until("no: there is none"), StartsWith("HTTP/1.1 404 "));
  client.send("POST /other HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\nabcdef");
  EXPECT_THAT(client.rest(), EndsWith("no: the body has 6 bytes, and 5 are allowed here"));
}

TEST_F(ListenerTest, stops_after_the_answers_that_were_begun) {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_running = false;
  bool may_end = false;
  router_.add(Method::Get, "/slow", {}, [&](const Request&) {
    std::unique_lock lock(mutex);
    is_running = true;
    changed.notify_all();
    changed.wait(lock, [&] { return may_end; });
    return Result<Response>(Response{.body = std::string("slow but whole")});
  });
  start();
  Client idle = connect();
  idle.send("GET /hello/a HTTP/1.1\r\nHost: x\r\n\r\n");
  idle.until("hello a");
  Client busy = connect();
  busy.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return is_running; });
  }
  std::thread stopping([&] { listener_->stop(); });
  EXPECT_EQ(idle.rest(), "");
  {
    const std::scoped_lock lock(mutex);
    may_end = true;
  }
  changed.notify_all();
  EXPECT_THAT(busy.rest(), EndsWith("slow but whole"));
  stopping.join();
  EXPECT_EQ(listener_->connection_count(), 0U);
}

// `kedge server link` failed when /health answered before the owner's key was in its place.
TEST_F(ListenerTest, its_address_is_known_before_anybody_is_answered) {
  std::optional<Client> early;
  ListenOptions options;
  options.on_address = [&](const std::string& address) {
    early.emplace(std::stoi(address.substr(address.rfind(':') + 1)));
    early->send("GET /hello/a HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_FALSE(early->says_within(std::chrono::milliseconds(100)));
  };
  start(options);
  ASSERT_TRUE(early.has_value());
  EXPECT_THAT(early->until("hello a"), StartsWith("HTTP/1.1 200 OK\r\n"));
}

TEST_F(ListenerTest, says_that_a_port_is_taken) {
  start();
  const auto second = Listener::start(router_, {}, {.port = listener_->port()});
  ASSERT_FALSE(second.has_value());
  EXPECT_THAT(second.error().message, HasSubstr("is taken by another program"));
  EXPECT_THAT(second.error().hint, HasSubstr("--port 0"));
}

TEST_F(ListenerTest, pushes_to_many_and_drops_the_slow) {
  std::mutex mutex;
  std::vector<std::shared_ptr<PushStream>> streams;
  std::condition_variable changed;
  router_.add(Method::Get, "/events", {}, [&](const Request&) {
    return Result<Response>(Response{.body = PushStart([&](std::shared_ptr<PushStream> stream) {
                                       const std::scoped_lock lock(mutex);
                                       streams.push_back(std::move(stream));
                                       changed.notify_all();
                                       return std::shared_ptr<void>();
                                     })});
  });
  start();
  std::vector<Client> clients;
  for (int i = 0; i < 50; ++i) {
    clients.push_back(connect());
    clients.back().send("GET /events HTTP/1.1\r\nHost: x\r\n\r\n");
  }
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return streams.size() == 50; });
  }
  const auto event = std::make_shared<const std::string>("data: 1\n\n");
  for (const auto& stream : streams) {
    EXPECT_TRUE(stream->push(event));
  }
  for (Client& client : clients) {
    EXPECT_THAT(client.until("data: 1\n\n"), HasSubstr("Transfer-Encoding: chunked"));
  }
  // Nobody reads any more: in the end each stream is dropped, and pushing never waits.
  const auto large = std::make_shared<const std::string>(100'000, 'x');
  int pushed = 0;
  while (streams.front()->push(large) && pushed < 10'000) {
    ++pushed;
  }
  EXPECT_LT(pushed, 10'000);
}

TEST_F(ListenerTest, ends_a_stream_when_its_sender_does) {
  router_.add(Method::Get, "/events", {}, [](const Request&) {
    return Result<Response>(Response{.body = PushStart([](const auto& stream) {
                                       stream->push(std::make_shared<const std::string>("last"));
                                       stream->finish();
                                       return std::shared_ptr<void>();
                                     })});
  });
  start();
  Client client = connect();
  client.send("GET /events HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(client.rest(), EndsWith("4\r\nlast\r\n0\r\n\r\n"));
}

TEST_F(ListenerTest, tells_a_long_request_that_its_client_has_left) {
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<Request> asked;
  std::optional<Answer> answer;
  router_.add_quick(Method::Post, "/long", {.is_long = true}, [&](Request&& request, Answer to) {
    const std::lock_guard lock(mutex);
    asked = std::move(request);
    answer = std::move(to);
    changed.notify_all();
  });
  start();
  const auto ask = [&](Client& client) {
    client.send("POST /long HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return asked.has_value(); });
  };
  Client stays = connect();
  ask(stays);
  EXPECT_FALSE(stays.says_within(std::chrono::milliseconds(700)));
  EXPECT_FALSE(*asked->has_left) << "who waits is there, also when it has been looked for";
  (*answer)(Response{.body = std::string("late")});
  EXPECT_THAT(stays.until("late"), HasSubstr("200 OK"));
  asked.reset();
  {
    Client leaves = connect();
    ask(leaves);
  }
  for (int i = 0; i < 500 && !*asked->has_left; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_TRUE(*asked->has_left);
  answer.reset();
}

TEST_F(ListenerTest, a_quick_answer_that_waits_is_sent_before_the_server_stops) {
  start();
  Client client = connect();
  client.send("POST /quick HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\na");
  EXPECT_FALSE(client.says_within(std::chrono::milliseconds(200)));
  std::thread stopping([&] { listener_->stop(); });
  EXPECT_FALSE(client.says_within(std::chrono::milliseconds(200)));
  waiting_.back().second(Response{.body = std::string("late")});
  EXPECT_THAT(client.rest(), EndsWith("late"));
  waiting_.clear();
  stopping.join();
}

TEST_F(ListenerTest, refuses_unknown_addresses_as_the_router_says) {
  router_.set_unknown({.hint = "ask for /echo", .refuse = [](int status, const Refusal& refusal) {
                         return Response{.status = status, .body = "no: " + refusal.hint};
                       }});
  start();
  Client client = connect();
  client.send("GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(client.until("no: ask for /echo"), StartsWith("HTTP/1.1 404"));
}

}  // namespace
}  // namespace kedge::http
