// A real S3 server for tests, one that checks signatures: versitygw, from PATH or $KEDGE_S3_SERVER.
#pragma once

#include <csignal>
#include <cstdlib>
#include <memory>
#include <string>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/file.h"
#include "core/process.h"
#include "core/scratch_folder.h"
#include "store/internal/s3_client.h"

namespace kedge::store {

class S3Server {
 public:
  // Nothing where there is no such program. Sets the keys in this process's environment.
  static std::unique_ptr<S3Server> start() {
    const char* named = std::getenv("KEDGE_S3_SERVER");
    const auto program = named != nullptr ? std::optional<Path>(named) : find_program("versitygw");
    if (!program) {
      return nullptr;
    }
    ::setenv("ROOT_ACCESS_KEY", "testkey", 1);
    ::setenv("ROOT_SECRET_KEY", "testsecret", 1);
    ::setenv("AWS_ACCESS_KEY_ID", "testkey", 1);
    ::setenv("AWS_SECRET_ACCESS_KEY", "testsecret", 1);
    ::unsetenv("AWS_SESSION_TOKEN");
    ::unsetenv("AWS_REGION");
    ::unsetenv("AWS_ENDPOINT_URL");
    std::unique_ptr<S3Server> server(new S3Server());
    server->launch(*program);
    server->make_bucket();
    return server;
  }

  ~S3Server() {
    ::kill(pid_, SIGTERM);
    ::waitpid(pid_, nullptr, 0);
  }

  S3Server(const S3Server&) = delete;
  S3Server& operator=(const S3Server&) = delete;

  std::string endpoint() const { return "http://" + host_; }

  std::string address() const { return "s3://bucket/some/pre fix?endpoint=" + endpoint(); }

 private:
  S3Server() = default;

  static int free_port() {
    const OwnedFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    KEDGE_CHECK(::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size) == 0, "no port");
    ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size);
    return ntohs(address.sin_port);
  }

  void launch(const Path& program) {
    host_ = "127.0.0.1:" + std::to_string(free_port());
    for (const char* name : {"data", "meta"}) {
      KEDGE_CHECK(make_dirs(folder_ / name).has_value(), "no folder");
    }
    std::string data = folder_ / "data";
    std::string meta = folder_ / "meta";  // not every file system has extended attributes
    std::string file = program;
    std::string log = folder_ / "log";
    char* const arguments[] = {file.data(),
                               const_cast<char*>("--port"),
                               host_.data(),
                               const_cast<char*>("posix"),
                               const_cast<char*>("--sidecar"),
                               meta.data(),
                               data.data(),
                               nullptr};
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT, 0644);
    ::posix_spawn_file_actions_adddup2(&actions, 1, 2);
    KEDGE_CHECK(::posix_spawn(&pid_, file.c_str(), &actions, nullptr, arguments, environ) == 0,
                "the S3 server does not start");
    ::posix_spawn_file_actions_destroy(&actions);
  }

  // The client tries again until the server listens.
  void make_bucket() {
    const auto place = parse_s3_address("s3://bucket?endpoint=" + endpoint());
    S3Client client(*place, *read_s3_keys(*place), 10);
    const auto response = client.send({.method = "PUT"});
    KEDGE_CHECK(response && response->is_ok(), "no bucket could be made");
  }

  ScratchFolder folder_;
  std::string host_;
  pid_t pid_ = -1;
};

}  // namespace kedge::store
