// Sends a run folder to a tracking server: facts, files and event logs, each record exactly once.
// What the server has is asked of the server, so that it does not matter who has sent before, or
// how often, or whether an answer was lost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/file.h"
#include "core/result.h"
#include "track/event_log.h"
#include "track/log_chain.h"
#include "track/run_facts.h"
#include "track/server_link.h"

namespace kedge::track {

struct SendOptions {
  bool with_files = true;
  std::size_t request_bytes = std::size_t{1} << 20U;  // frames go in requests of about this size
  // Told of bytes of event logs that the server has now: found there or sent.
  std::function<void(std::uint64_t bytes)> on_bytes = {};
};

// One event log, as far as the folder and the server have it.
struct LogReport {
  std::string writer;
  std::uint64_t records = 0;  // whole ones in the folder
  std::string digest = {};    // of those
  std::uint64_t sent = 0;     // by this sender
  std::uint64_t server_records = 0;
  std::string server_digest = {};
  std::string problem = {};  // damage in the file: what lies behind it is not sent

  bool is_equal() const { return records == server_records && digest == server_digest; }
};

class Sender {
 public:
  // The link must live longer.
  static Result<Sender> open(const Path& run, ServerLink& link, SendOptions options = {});

  const RunName& name() const { return name_; }

  // Sends what is there and not yet sent. After an error, call it again: nothing is sent twice that
  // the server has taken. Returns whether anything was sent.
  Result<bool> send();

  // Sends the facts again, as a sign of life.
  Result<void> send_sign_of_life();

  // What is known after send(). `records` and `digest` count what was read, not what was written to
  // the file since.
  std::vector<LogReport> reports() const;

  std::size_t files_sent() const { return files_sent_; }

  // Files the server refuses for good; each is tried once.
  const std::map<std::string, std::string>& refused_files() const { return refused_files_; }

  // How many records wait in the folder, as far as they can be counted now.
  std::uint64_t count_unsent() const;

 private:
  struct Log {
    std::optional<EventLogReader> reader = {};  // stands at `local`
    LogPosition local = {};
    std::optional<ServerPosition> server = {};  // nothing: it must be asked
    std::uint64_t sent = 0;
    std::uint64_t told_bytes = 0;
    std::string problem = {};
  };

  Sender(Path run, RunName name, ServerLink& link, SendOptions options)
      : run_(std::move(run)), name_(std::move(name)), link_(link), options_(std::move(options)) {}

  Result<void> send_facts();
  Result<bool> send_files();
  Result<bool> send_log(const std::string& writer, Log& log);
  Result<void> open_log(const std::string& writer, Log& log);
  Result<void> meet_server(const std::string& writer, Log& log);
  Result<std::string> read_frames(Log& log) const;
  static Result<std::optional<std::string_view>> next_frame(Log& log);
  void tell(Log& log) const;

  Path run_;
  RunName name_;
  ServerLink& link_;
  SendOptions options_;
  std::optional<std::uint64_t> facts_stamp_;
  bool is_over_ = false;  // the run has ended, as the facts say
  std::optional<std::set<std::string>> sent_files_;
  bool takes_files_ = true;
  std::optional<std::uint64_t> files_stamp_;
  std::size_t files_sent_ = 0;
  std::map<std::string, std::string> refused_files_;
  std::map<std::string, Log> logs_;
};

}  // namespace kedge::track
