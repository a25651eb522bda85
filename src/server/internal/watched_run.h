// One run folder that the watch takes in, and what of it is in the store already. Anybody may have
// made it: nothing is read through symbolic links, neither below the folder nor on the way to it
// from the watched one, and nothing but regular files.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "core/file.h"
#include "core/result.h"
#include "server/ingest.h"
#include "store/blobs.h"
#include "store/run.h"
#include "store/store.h"

namespace kedge::server {

struct WatchTarget {
  store::Store& store;
  store::BlobStore* blobs;  // null: files stay in their folders
  const NowUs& now_us;
};

struct Look {
  bool has_changed = false;   // anything, if only the time of a sign of life
  std::uint64_t records = 0;  // taken in
};

class WatchedRun {
 public:
  // `folder` is WATCHED/PROJECT/RUN.
  explicit WatchedRun(Path folder) : folder_(std::move(folder)) {}

  // Takes in what is new. Costs two stat() calls where the run is over and nothing has changed,
  // and five where it may be running. After an error the next look begins anew.
  Result<Look> look(const WatchTarget& target);

  bool is_busy() const { return is_busy_; }  // its process has not said that it ended

  const Path& folder() const { return folder_; }

 private:
  struct Log {
    std::uint64_t next_seq = 0;
    std::uint64_t offset = 0;  // of the frames, as store::SourceState counts
    std::uint64_t header_bytes = 0;
    bool is_placed = false;
    bool is_settled = false;  // taken in, or damaged, and nobody writes it any more
  };

  // When names were last added to the folders, in nanoseconds: all but the logs is replaced by
  // renaming, so that nothing else changes without one of these.
  struct Stamp {
    std::optional<std::int64_t> folder_ns = {};
    std::optional<std::int64_t> attempts_ns = {};

    bool operator==(const Stamp&) const = default;
  };

  Result<Look> look_inside(const WatchTarget& target, bool is_close);
  Result<Look> look_closely(const WatchTarget& target);
  Result<bool> take_facts_of(const WatchTarget& target);
  Result<bool> take_sign_of_life(const WatchTarget& target);
  Result<bool> take_files(const WatchTarget& target);
  Result<void> take_file(const WatchTarget& target, const std::string& path);
  Result<std::uint64_t> take_logs(const WatchTarget& target);
  Result<std::uint64_t> take_log(const WatchTarget& target, const std::string& writer, Log& log);

  Path folder_;
  Path here_;  // the folder as it was opened for this look, whatever its name leads to meanwhile
  store::RunKey run_;
  bool is_known_ = false;
  bool is_busy_ = true;
  std::optional<Stamp> stamp_;
  bool is_fresh_ = false;  // the stamp changed at the last look
  std::optional<std::uint64_t> facts_stamp_;
  std::optional<std::int64_t> sign_of_life_;
  std::optional<std::int64_t> media_ns_;
  std::optional<std::set<std::string>> files_;  // that the store has
  std::map<std::string, Log> logs_;
  std::string newest_attempt_;
};

}  // namespace kedge::server
