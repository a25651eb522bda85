#include "track/sender.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "core/file.h"
#include "core/file_digest.h"
#include "core/hash.h"
#include "core/result.h"
#include "track/attempt.h"
#include "track/event_log.h"
#include "track/run_facts.h"
#include "track/server_link.h"

namespace kedge::track {
namespace {

// Changes when files may have come: names are added to folders, and folders get a new time.
std::uint64_t stamp_files(const Path& run) {
  std::string text;
  for (const char* folder : {"", "media"}) {
    struct stat status{};
    if (::stat((run / folder).c_str(), &status) == 0) {
      text += fmt::format("{}.{} ", status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
    }
  }
  return xxh3_64(as_bytes(text));
}

// Large files get their content once; small ones may have been replaced.
bool is_same(const Path& path, const ServerFile& there) {
  constexpr std::uint64_t kSmallBytes = std::uint64_t{1} << 20U;
  const auto size = size_of_file(path);
  if (!size || *size != there.size) {
    return false;
  }
  if (*size > kSmallBytes) {
    return true;
  }
  const auto content = read_file(path);
  return content && sha256_of(*content) == there.digest;
}

}  // namespace

Result<Sender> Sender::open(const Path& run, ServerLink& link, SendOptions options) {
  RunName name = KEDGE_TRY(read_run_name(run));
  return Sender(run, std::move(name), link, std::move(options));
}

Result<bool> Sender::send() {
  bool has_sent = facts_stamp_ != stamp_run_facts(run_);
  if (has_sent) {
    KEDGE_TRY(send_facts());
  }
  // Before the records that refer to them.
  if (options_.with_files && takes_files_) {
    has_sent |= KEDGE_TRY(send_files());
  }
  bool has_sent_records = false;
  for (const std::string& writer : list_writers(run_)) {
    Log& log = logs_[writer];
    auto sent = send_log(writer, log);
    if (!sent) {
      log.server.reset();  // an answer may be lost: ask
      facts_stamp_.reset();
      return sent;
    }
    has_sent_records |= *sent;
  }
  if (has_sent_records && is_over_) {
    KEDGE_TRY(send_facts());  // to the server, records are a sign of life: this run has ended
  }
  return has_sent || has_sent_records;
}

Result<void> Sender::send_facts() {
  const std::uint64_t stamp = stamp_run_facts(run_);
  const nlohmann::json facts = KEDGE_TRY(read_run_facts(run_));
  KEDGE_TRY(link_.send_facts(name_, facts));
  is_over_ = facts["state"] != name_of(RunState::Running);
  facts_stamp_ = stamp;
  return {};
}

Result<void> Sender::send_sign_of_life() {
  return link_.send_facts(name_, nlohmann::json::object());
}

Result<bool> Sender::send_files() {
  const std::uint64_t stamp = stamp_files(run_);
  if (files_stamp_ == stamp) {
    return false;
  }
  if (!sent_files_) {
    auto there = link_.fetch_files(name_);
    if (!there && there.error().kind == ErrorKind::NotFound) {
      takes_files_ = false;
      return false;
    }
    sent_files_.emplace();
    for (const auto& [path, file] : KEDGE_TRY(std::move(there))) {
      if (is_same(run_ / path, file)) {
        sent_files_->insert(path);
      }
    }
  }
  bool has_sent = false;
  for (const std::string& path : list_run_files(run_)) {
    if (sent_files_->contains(path) || refused_files_.contains(path)) {
      continue;
    }
    const auto sent = link_.send_file(name_, path, run_ / path);
    if (!sent && (sent.error().kind == ErrorKind::Unavailable ||
                  sent.error().kind == ErrorKind::Interrupted)) {
      return std::unexpected(sent.error());
    }
    if (!sent) {
      refused_files_[path] = sent.error().message;
      continue;
    }
    sent_files_->insert(path);
    ++files_sent_;
    has_sent = true;
  }
  files_stamp_ = stamp;
  return has_sent;
}

Result<void> Sender::open_log(const std::string& writer, Log& log) {
  log.reader.emplace(KEDGE_TRY(EventLogReader::open(log_path(run_, writer))));
  log.local = {};
  return {};
}

// Brings the place in the file to where the server is, and proves that both have the same until
// there. A server that has more than the file (whose last records a crash took) is believed.
Result<void> Sender::meet_server(const std::string& writer, Log& log) {
  if (!log.server) {
    log.server = KEDGE_TRY(link_.fetch_position(name_, writer));
  }
  if (!log.reader || log.local.next_seq > log.server->next_seq) {
    KEDGE_TRY(open_log(writer, log));
  }
  while (log.local.next_seq < log.server->next_seq) {
    const auto frame = KEDGE_TRY(next_frame(log));
    if (!frame) {
      return {};
    }
    log.local.pass(*frame);
  }
  if (log.local.digest() != log.server->digest) {
    return fail(
        ErrorKind::Corrupt,
        fmt::format("{} has another log as {}/{} {}: the digest of its {} records is {}, "
                    "here it is {}",
                    link_.url(), name_.project, name_.id, writer, log.local.next_seq,
                    log.server->digest, log.local.digest()),
        "another run with this id was sent there; remove it there (kedge runs rm --for-good), "
        "or give one another id");
  }
  return {};
}

void Sender::tell(Log& log) const {
  if (options_.on_bytes && log.local.offset > log.told_bytes) {
    options_.on_bytes(log.local.offset - log.told_bytes);
    log.told_bytes = log.local.offset;
  }
}

// Damage is the end of a log, and told in its report.
Result<std::optional<std::string_view>> Sender::next_frame(Log& log) {
  auto frame = log.reader->next_frame();
  if (!frame && frame.error().kind == ErrorKind::Corrupt) {
    log.problem = frame.error().message;
    return std::nullopt;
  }
  return frame;
}

// Frames of about one request, from the file's place on. Moves `local` past them.
Result<std::string> Sender::read_frames(Log& log) const {
  std::string frames;
  while (frames.size() < options_.request_bytes) {
    const auto frame = KEDGE_TRY(next_frame(log));
    if (!frame) {
      break;
    }
    frames += *frame;
    log.local.pass(*frame);
  }
  return frames;
}

Result<bool> Sender::send_log(const std::string& writer, Log& log) {
  bool has_sent = false;
  for (;;) {
    KEDGE_TRY(meet_server(writer, log));
    tell(log);
    if (log.local.next_seq < log.server->next_seq) {
      return has_sent;  // the server has more than the file
    }
    const std::uint64_t from_seq = log.local.next_seq;
    const std::string frames = KEDGE_TRY(read_frames(log));
    if (frames.empty()) {
      return has_sent;
    }
    auto position = link_.send_frames(name_, writer, from_seq, frames);
    if (!position) {
      log.reader.reset();  // `local` is ahead of what the server has
      return std::unexpected(position.error());
    }
    log.sent += position->next_seq > from_seq ? position->next_seq - from_seq : 0;
    log.server = std::move(*position);
    has_sent = true;
  }
}

std::vector<LogReport> Sender::reports() const {
  std::vector<LogReport> list;
  for (const std::string& writer : list_writers(run_)) {
    const auto found = logs_.find(writer);
    if (found == logs_.end()) {
      list.push_back({.writer = writer, .digest = LogPosition().digest(), .server_digest = {}});
      continue;
    }
    const Log& log = found->second;
    list.push_back({.writer = writer,
                    .records = log.local.next_seq,
                    .digest = log.local.digest(),
                    .sent = log.sent,
                    .server_records = log.server ? log.server->next_seq : 0,
                    .server_digest = log.server ? log.server->digest : std::string(),
                    .problem = log.problem});
  }
  return list;
}

std::uint64_t Sender::count_unsent() const {
  std::uint64_t count = 0;
  for (const std::string& writer : list_writers(run_)) {
    const auto found = logs_.find(writer);
    const std::uint64_t known =
        found != logs_.end() && found->second.server ? found->second.server->next_seq : 0;
    std::uint64_t records = 0;
    if (auto reader = EventLogReader::open(log_path(run_, writer))) {
      for (auto frame = reader->next_frame(); frame && *frame; frame = reader->next_frame()) {
        ++records;
      }
    }
    count += records > known ? records - known : 0;
  }
  return count;
}

}  // namespace kedge::track
