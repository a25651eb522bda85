// A real PostgreSQL for tests, in a scratch folder and reached by a socket there. Where it is not
// installed address() is empty and the test skips itself.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include "core/file.h"
#include "core/process.h"
#include "core/result.h"
#include "core/scratch_folder.h"

namespace kedge::store {

class TestPostgres {
 public:
  // One for all tests of a program; it is stopped when the program ends.
  static TestPostgres& instance() {
    static TestPostgres server;
    return server;
  }

  TestPostgres(const TestPostgres&) = delete;
  TestPostgres& operator=(const TestPostgres&) = delete;

  ~TestPostgres() {
    if (is_running_) {
      (void)run({"pg_ctl", "-D", data(), "-m", "immediate", "stop"});
    }
  }

  bool is_running() const { return is_running_; }

  const std::string& why_not() const { return why_not_; }

  // The address of an empty database of its own.
  std::string make_database() {
    const std::string name = fmt::format("test{}", ++database_count_);
    const auto made = run({"createdb", "-h", folder_.path().string(), "-U", "test", name});
    KEDGE_CHECK(made && made->is_ok(), made ? made->errors.c_str() : "no createdb");
    return fmt::format("postgres://test@/{}?host={}", name, folder_.path().string());
  }

  // Ends every connection, as a restart of the database would.
  void restart() {
    (void)run({"pg_ctl", "-D", data(), "-m", "immediate", "stop"});
    const auto started = start();
    KEDGE_CHECK(started && started->is_ok(), "pg_ctl could not start it again");
  }

 private:
  TestPostgres() {
    if (!find_programs()) {
      why_not_ = "PostgreSQL is not installed (apt-get install postgresql)";
      return;
    }
    namespace fs = std::filesystem;
    fs::permissions(folder_.path(), fs::perms::all);
    if (const passwd* nobody = ::getpwnam("nobody"); ::geteuid() == 0 && nobody != nullptr) {
      (void)::chown(folder_.path().c_str(), nobody->pw_uid, nobody->pw_gid);
    }
    const auto made = run({"initdb", "-D", data(), "-U", "test", "-A", "trust", "-E", "UTF8",
                           "--locale=C.UTF-8", "-N"});
    if (!made || !made->is_ok()) {
      why_not_ = "initdb failed: " + (made ? made->errors : made.error().message);
      return;
    }
    std::ofstream(data() + "/postgresql.conf", std::ios::app)
        << "listen_addresses = ''\nunix_socket_directories = '" << folder_.path().string()
        << "'\nfsync = off\nfull_page_writes = off\nshared_buffers = 32MB\n";
    const auto started = start();
    is_running_ = started && started->is_ok();
    why_not_ = is_running_ ? "" : "PostgreSQL does not start";
  }

  bool find_programs() {
    if (const auto initdb = find_program("initdb")) {
      programs_ = std::filesystem::canonical(*initdb).parent_path();  // not wrapper scripts
      return true;
    }
    std::error_code error;
    for (const auto& version : std::filesystem::directory_iterator("/usr/lib/postgresql", error)) {
      if (std::filesystem::exists(version.path() / "bin/initdb")) {
        programs_ = version.path() / "bin";
        return true;
      }
    }
    return false;
  }

  Result<ProcessResult> start() {
    return run({"pg_ctl", "-D", data(), "-l", (folder_ / "log").string(), "-w", "start"});
  }

  // PostgreSQL refuses to run as root.
  Result<ProcessResult> run(std::vector<std::string> args) const {
    args.front() = (programs_ / args.front()).string();
    if (::geteuid() == 0) {
      args.insert(args.begin(), {"runuser", "-u", "nobody", "--"});
    }
    return run_process({.args = std::move(args), .folder = folder_.path()});
  }

  std::string data() const { return (folder_ / "data").string(); }

  ScratchFolder folder_;
  Path programs_;
  bool is_running_ = false;
  std::string why_not_;
  int database_count_ = 0;
};

}  // namespace kedge::store
