#include "server/internal/watched_run.h"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "core/file.h"
#include "core/inside.h"
#include "core/log.h"
#include "core/result.h"
#include "server/ingest.h"
#include "store/run.h"
#include "store/series.h"
#include "store/store.h"
#include "track/event_log.h"
#include "track/run_facts.h"

namespace kedge::server {
namespace {

constexpr std::size_t kFramesBytes = std::size_t{1} << 20U;

// So that one long log does not keep the others waiting; the rest comes with the next look.
constexpr std::uint64_t kLookBytes = std::uint64_t{16} << 20U;

std::optional<std::int64_t> modified_ns(const Path& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) {
    return std::nullopt;
  }
  return status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec;
}

// "a3" of "a3-r1": the ranks of one attempt write at the same time.
std::string attempt_of(const std::string& writer) {
  return writer.substr(0, writer.find('-'));
}

}  // namespace

Result<Look> WatchedRun::look(const WatchTarget& target) {
  const Stamp stamp{modified_ns(folder_), modified_ns(folder_ / "attempts")};
  const bool is_new = stamp_ != stamp;
  // Times are coarse: a second change in the same tick would not show.
  const bool is_close = is_new || is_fresh_;
  if (!is_close && !is_busy_) {
    return Look{};
  }
  const Path project = folder_.parent_path();
  const OwnedFd opened =
      KEDGE_TRY(open_folder_inside(project.parent_path(), project.filename() / folder_.filename()));
  here_ = fmt::format("/proc/self/fd/{}", opened.get());
  auto look = look_inside(target, is_close);
  if (!look) {
    // People know the folder by its name.
    std::string& message = look.error().message;
    if (const auto place = message.find(here_.native()); place != std::string::npos) {
      message.replace(place, here_.native().size(), folder_.native());
    }
    return look;
  }
  look->has_changed |= is_new || look->records > 0;
  stamp_ = stamp;
  is_fresh_ = is_new;
  return look;
}

Result<Look> WatchedRun::look_inside(const WatchTarget& target, bool is_close) {
  Look look;
  if (is_close) {
    look = KEDGE_TRY(look_closely(target));
  }
  look.has_changed |= KEDGE_TRY(take_sign_of_life(target));
  look.has_changed |= KEDGE_TRY(take_files(target));
  look.records = KEDGE_TRY(take_logs(target));
  if (look.records > 0 && !is_busy_) {
    // To the store, records are a sign of life: this run has ended.
    facts_stamp_.reset();
    KEDGE_TRY(take_facts_of(target));
  }
  return look;
}

Result<Look> WatchedRun::look_closely(const WatchTarget& target) {
  if (!is_known_) {
    const track::RunName name = KEDGE_TRY(track::read_run_name(here_));
    run_ = {name.project, name.id};
    is_known_ = true;
  }
  const bool has_changed = KEDGE_TRY(take_facts_of(target));
  for (const std::string& writer : track::list_writers(here_)) {
    logs_[writer].is_settled = false;
    newest_attempt_ = attempt_of(writer);
  }
  // Files of the config may have been replaced; media and patches never are.
  if (files_) {
    std::erase_if(*files_, [](const std::string& path) { return path.starts_with("config."); });
  }
  media_ns_.reset();
  return Look{.has_changed = has_changed};
}

Result<bool> WatchedRun::take_facts_of(const WatchTarget& target) {
  const std::uint64_t stamp = track::stamp_run_facts(here_);
  if (facts_stamp_ == stamp) {
    return false;
  }
  const nlohmann::json facts = KEDGE_TRY(track::read_run_facts(here_));
  KEDGE_TRY(take_facts(target.store, run_, facts, target.now_us()));
  is_busy_ = facts["state"] == "running";
  facts_stamp_ = stamp;
  return true;
}

// Only that the time changes counts: whose clock it is does not matter.
Result<bool> WatchedRun::take_sign_of_life(const WatchTarget& target) {
  if (!is_busy_) {
    return false;
  }
  const auto sign = track::find_sign_of_life(here_);
  if (sign == sign_of_life_) {
    return false;
  }
  if (sign_of_life_) {
    KEDGE_TRY(target.store.heartbeat(run_, target.now_us()));
  }
  sign_of_life_ = sign;
  return true;
}

Result<bool> WatchedRun::take_files(const WatchTarget& target) {
  const auto media_ns = modified_ns(here_ / "media");
  if (target.blobs == nullptr || (media_ns_ && media_ns == media_ns_)) {
    return false;
  }
  if (!files_) {
    files_.emplace();
    for (const store::RunFile& file : KEDGE_TRY(target.store.list_files(run_))) {
      if (!file.path.starts_with("config.")) {
        files_->insert(file.path);
      }
    }
  }
  bool has_taken = false;
  for (const std::string& path : track::list_run_files(here_)) {
    if (files_->contains(path)) {
      continue;
    }
    if (const auto taken = take_file(target, path); !taken) {
      if (taken.error().kind != ErrorKind::Corrupt) {
        return std::unexpected(taken.error());
      }
      warn("{}: {}", folder_.string(), taken.error().message);
    }
    files_->insert(path);
    has_taken = true;
  }
  media_ns_ = media_ns;
  return has_taken;
}

// Read in pieces: a file that its owner shortens under a memory map would end the server.
Result<void> WatchedRun::take_file(const WatchTarget& target, const std::string& path) {
  const OwnedFd file = KEDGE_TRY(open_inside(here_, path));
  const auto writer = KEDGE_TRY(target.blobs->begin());
  std::string buffer(kFramesBytes, '\0');
  for (;;) {
    const ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return std::unexpected(io_error("cannot read", here_ / path, errno));
    }
    if (got == 0) {
      break;
    }
    KEDGE_TRY(writer->add({buffer.data(), static_cast<std::size_t>(got)}));
  }
  const store::StoredBlob blob = KEDGE_TRY(writer->commit());
  return target.store.bind_file(run_, {.path = path, .size = blob.size, .digest = blob.digest});
}

Result<std::uint64_t> WatchedRun::take_logs(const WatchTarget& target) {
  std::uint64_t records = 0;
  std::optional<Error> trouble;
  for (auto& [writer, log] : logs_) {
    const auto size = size_of_file(track::log_path(here_, writer));
    if (log.is_settled || !size) {
      continue;
    }
    if (!log.is_placed || *size > log.header_bytes + log.offset) {
      const auto taken = take_log(target, writer, log);
      if (!taken) {
        trouble = taken.error();
        continue;
      }
      records += *taken;
    }
    const bool is_all = log.is_placed && log.header_bytes + log.offset >= *size;
    log.is_settled = is_all && (!is_busy_ || attempt_of(writer) != newest_attempt_);
  }
  if (trouble) {
    return std::unexpected(*trouble);
  }
  return records;
}

Result<std::uint64_t> WatchedRun::take_log(const WatchTarget& target, const std::string& writer,
                                           Log& log) {
  auto reader = KEDGE_TRY(track::EventLogReader::open(track::log_path(here_, writer)));
  if (!log.is_placed) {
    const store::SourceState state = KEDGE_TRY(target.store.find_source(run_, writer));
    log.next_seq = state.next_seq;
    log.offset = state.offset;
    log.header_bytes = reader.first_offset();
    log.is_placed = true;
  }
  std::uint64_t accepted = 0;
  const std::uint64_t last = log.offset + kLookBytes;
  std::optional<Error> damage;
  bool is_end = false;
  while (!is_end && log.offset < last) {
    reader.seek(log.header_bytes + log.offset);
    store::Frames frames{.run = run_, .writer = writer, .from_seq = log.next_seq, .bytes = {}};
    while (!is_end && frames.bytes.size() < kFramesBytes) {
      const auto frame = reader.next_frame();
      if (!frame) {
        damage = frame.error();
      }
      is_end = !frame || !frame->has_value();
      frames.bytes += is_end ? std::string_view() : **frame;
    }
    if (frames.bytes.empty()) {
      break;
    }
    const auto answer = KEDGE_TRY(target.store.ingest(std::move(frames), target.now_us()));
    // Somebody else may have sent them meanwhile: the store tells where it is.
    log.next_seq = answer.state.next_seq;
    log.offset = answer.state.offset;
    accepted += answer.accepted;
  }
  if (damage) {
    log.is_settled = true;
    return std::unexpected(*damage);
  }
  return accepted;
}

}  // namespace kedge::server
