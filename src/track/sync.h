// Sends run folders to a tracking server after the fact: many at once, only what is missing there,
// and with the proof that both sides have the same records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/file.h"
#include "core/result.h"
#include "track/run_facts.h"
#include "track/sender.h"
#include "track/server_link.h"

namespace kedge::track {

struct SyncOptions {
  ServerAddress server;
  int jobs = 4;
  bool is_dry_run = false;  // only asks the server what it has
  bool with_checkpoints = false;
  // How long a run may get nothing through before it is given up; where the server has not answered
  // even once, less.
  double patience_s = 60;
  double first_patience_s = 5;
  std::function<void(const Error& error)> on_wait = {};  // told once, from any of the threads
  std::function<bool()> should_stop = {};
  // From any of the threads, one at a time: bytes of event logs done since the last call.
  std::function<void(std::uint64_t bytes)> on_bytes = {};
};

struct SyncReport {
  Path run;
  RunName name = {};
  std::vector<LogReport> logs = {};
  std::size_t files_sent = 0;
  std::size_t checkpoints_sent = 0;
  std::vector<std::string> problems = {};  // empty: the server has all of it
  std::vector<std::string> notes = {};     // what cannot be proven, and why
  bool is_interrupted = false;

  bool is_proven() const;  // every log: as many records as the server, with the same digest
  std::uint64_t records() const;
  std::uint64_t sent() const;
};

// The folders of runs that a word means: one run's, those of a project's or of all under a folder,
// or the run of that id or name under `dir`.
Result<std::vector<Path>> find_run_folders(const std::string& word, const Path& dir);

// Bytes of all event logs in these folders.
std::uint64_t count_log_bytes(const std::vector<Path>& runs);

// A report for each run, in the same order.
Result<std::vector<SyncReport>> sync_runs(const std::vector<Path>& runs,
                                          const SyncOptions& options);

}  // namespace kedge::track
