#include "track/sync.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/file.h"
#include "core/result.h"
#include "track/checkpoint_upload.h"
#include "track/event_log.h"
#include "track/log_chain.h"
#include "track/run_facts.h"
#include "track/run_list.h"
#include "track/sender.h"
#include "track/server_link.h"

namespace kedge::track {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kFirstPause{200};
constexpr milliseconds kLongestPause = std::chrono::seconds(5);

bool is_run(const Path& folder) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(folder / "run.json", ignored);
}

std::vector<Path> list_sorted_folders(const Path& folder) {
  std::vector<Path> folders;
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    std::error_code ignored;
    if (!entry->path().filename().string().starts_with('.') && entry->is_directory(ignored)) {
      folders.push_back(entry->path());
    }
  }
  std::ranges::sort(folders);
  return folders;
}

void describe_differences(SyncReport& report, const std::string& url) {
  for (const LogReport& log : report.logs) {
    if (!log.problem.empty()) {
      report.problems.push_back(log.problem + "; what lies behind it is not sent");
    } else if (log.server_records > log.records) {
      report.notes.push_back(
          fmt::format("{} has {} records of {}, the folder only {}: a crash took the last ones",
                      url, log.server_records, log.writer, log.records));
    } else if (!log.is_equal()) {
      report.problems.push_back(fmt::format("{}: {} of {} records are on {}", log.writer,
                                            log.server_records, log.records, url));
    }
  }
}

// What the folder and the server have, without sending anything.
Result<std::vector<LogReport>> compare_logs(const Path& run, const RunName& name,
                                            ServerLink& link) {
  std::vector<LogReport> reports;
  for (const std::string& writer : list_writers(run)) {
    const ServerPosition server = KEDGE_TRY(link.fetch_position(name, writer));
    EventLogReader reader = KEDGE_TRY(EventLogReader::open(log_path(run, writer)));
    LogPosition local;
    LogReport report{
        .writer = writer, .server_records = server.next_seq, .server_digest = server.digest};
    for (;;) {
      const auto frame = reader.next_frame();
      if (!frame) {
        report.problem = frame.error().message;
      }
      if (!frame || !*frame) {
        break;
      }
      local.pass(**frame);
    }
    report.records = local.next_seq;
    report.digest = local.digest();
    reports.push_back(std::move(report));
  }
  return reports;
}

// One thread's work: runs, one after the other, over a link of its own.
class Worker {
 public:
  Worker(ServerLink link, const SyncOptions& options) : link_(std::move(link)), options_(options) {}

  SyncReport sync(const Path& run) {
    SyncReport report{.run = run};
    const auto done = options_.is_dry_run ? compare(run, report) : send(run, report);
    if (!done) {
      report.is_interrupted = done.error().kind == ErrorKind::Interrupted;
      report.problems.push_back(done.error().message +
                                (done.error().hint.empty() ? "" : " (" + done.error().hint + ")"));
    } else if (!options_.is_dry_run) {
      describe_differences(report, link_.url());
    }
    return report;
  }

 private:
  Result<void> compare(const Path& run, SyncReport& report) {
    report.name = KEDGE_TRY(read_run_name(run));
    report.logs = KEDGE_TRY(compare_logs(run, report.name, link_));
    return {};
  }

  Result<void> send(const Path& run, SyncReport& report) {
    Clock::time_point moved = Clock::now();
    Sender sender = KEDGE_TRY(Sender::open(run, link_, {.on_bytes = [&](auto bytes) {
                                             moved = Clock::now();
                                             if (options_.on_bytes) {
                                               options_.on_bytes(bytes);
                                             }
                                           }}));
    CheckpointUpload upload(
        run, sender.name(), link_,
        options_.with_checkpoints ? WhichCheckpoints::All : WhichCheckpoints::None);
    const auto send_all = [&]() -> Result<void> {
      KEDGE_TRY(sender.send());
      return upload.send();
    };
    report.name = sender.name();
    milliseconds pause = kFirstPause;
    Result<void> sent = send_all();
    while (!sent && sent.error().kind == ErrorKind::Unavailable && !is_stopping() &&
           Clock::now() - moved < patience()) {
      if (options_.on_wait) {
        options_.on_wait(sent.error());
      }
      std::this_thread::sleep_for(pause);
      pause = std::min(pause * 2, kLongestPause);
      sent = send_all();
    }
    report.logs = sender.reports();
    report.files_sent = sender.files_sent();
    report.checkpoints_sent = upload.sent_count();
    for (const auto& [path, why] : sender.refused_files()) {
      report.problems.push_back(fmt::format("{}: {}", path, why));
    }
    return sent;
  }

  std::chrono::duration<double> patience() const {
    return std::chrono::duration<double>(link_.has_answered() ? options_.patience_s
                                                              : options_.first_patience_s);
  }

  bool is_stopping() const { return options_.should_stop && options_.should_stop(); }

  ServerLink link_;
  const SyncOptions& options_;
};

}  // namespace

bool SyncReport::is_proven() const {
  return problems.empty() && std::ranges::all_of(logs, &LogReport::is_equal);
}

std::uint64_t SyncReport::records() const {
  std::uint64_t count = 0;
  for (const LogReport& log : logs) {
    count += log.records;
  }
  return count;
}

std::uint64_t SyncReport::sent() const {
  std::uint64_t count = 0;
  for (const LogReport& log : logs) {
    count += log.sent;
  }
  return count;
}

Result<std::vector<Path>> find_run_folders(const std::string& word, const Path& dir) {
  if (is_run(word)) {
    return std::vector<Path>{word};
  }
  std::error_code ignored;
  if (!std::filesystem::is_directory(word, ignored)) {
    return std::vector<Path>{KEDGE_TRY(find_run_folder(word, dir))};
  }
  std::vector<Path> runs;
  for (const Path& folder : list_sorted_folders(word)) {
    if (is_run(folder)) {
      runs.push_back(folder);
      continue;
    }
    for (const Path& inner : list_sorted_folders(folder)) {
      if (is_run(inner)) {
        runs.push_back(inner);
      }
    }
  }
  return runs;
}

std::uint64_t count_log_bytes(const std::vector<Path>& runs) {
  std::uint64_t bytes = 0;
  for (const Path& run : runs) {
    for (const std::string& writer : list_writers(run)) {
      bytes += size_of_file(log_path(run, writer)).value_or(0);
    }
  }
  return bytes;
}

Result<std::vector<SyncReport>> sync_runs(const std::vector<Path>& runs,
                                          const SyncOptions& options) {
  std::mutex mutex;
  SyncOptions shared = options;
  shared.on_bytes = [&](std::uint64_t bytes) {
    const std::lock_guard lock(mutex);
    if (options.on_bytes) {
      options.on_bytes(bytes);
    }
  };
  shared.on_wait = [&, has_told = false](const Error& error) mutable {
    const std::lock_guard lock(mutex);
    if (options.on_wait && !std::exchange(has_told, true)) {
      options.on_wait(error);
    }
  };
  const std::size_t count =
      std::min(runs.size(), static_cast<std::size_t>(std::max(options.jobs, 1)));
  std::vector<Worker> workers;
  for (std::size_t i = 0; i < count; ++i) {
    workers.emplace_back(KEDGE_TRY(ServerLink::open(options.server, options.should_stop)), shared);
  }
  std::vector<SyncReport> reports(runs.size());
  std::atomic<std::size_t> next = 0;
  std::vector<std::jthread> threads;
  for (Worker& worker : workers) {
    threads.emplace_back([&] {
      for (std::size_t i = next++; i < runs.size(); i = next++) {
        try {
          reports[i] = worker.sync(runs[i]);
        } catch (const std::exception& exception) {  // no memory
          reports[i] = {.run = runs[i], .problems = {exception.what()}};
        }
      }
    });
  }
  threads.clear();
  return reports;
}

}  // namespace kedge::track
