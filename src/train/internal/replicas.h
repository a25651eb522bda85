// The training's state in the memory of every machine that takes part, so that a lost process costs
// seconds and no trip to the disk (GEMINI's idea). Ranks that train data-parallel all have the same
// weights: each machine keeps the whole state itself, and thereby every machine has peers that do.
// Trouble is a warning, never a failure: the checkpoints on the disk are what counts.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "checkpoint/library.h"
#include "checkpoint/saver.h"
#include "config/config.h"
#include "config/interval.h"
#include "core/file.h"
#include "core/stopwatch.h"
#include "dist/process_group.h"
#include "track/run.h"
#include "train/internal/checkpoints.h"
#include "train/internal/staging.h"

namespace kedge::train {

// Names the run and no other that had its id before; empty where the folder holds no run.
std::string replica_key(const Path& run);

// How far a saved training has come.
struct SavedPlace {
  std::int64_t step = -1;
  std::int64_t epoch = -1;

  auto operator<=>(const SavedPlace&) const = default;
};

// A collective. The newest replica that any machine has, opened on rank 0, where it was brought if
// need be; nothing on other ranks, and where none is as new as what rank 0 has on the disk.
std::optional<checkpoint::Newest> find_newest_replica(dist::ProcessGroup& group,
                                                      const std::string& key,
                                                      const SavedPlace& on_disk);

class Replicas {
 public:
  struct Parts {
    const config::Config& config;
    at::Device device;
    track::Run& run;
    dist::ProcessGroup& group;
    std::string key;  // of rank 0
  };

  // A collective. Null where dist.replicas is never.
  static std::unique_ptr<Replicas> make(const Parts& parts);

  // A copy that waits for the other ranks is given up: they may be gone.
  ~Replicas();
  Replicas(const Replicas&) = delete;
  Replicas& operator=(const Replicas&) = delete;

  // Whether to keep the state of this step; rank 0's answer counts.
  bool is_due(std::int64_t step);

  // A collective, though only one rank of each machine copies.
  void keep(Snapshot snapshot);

  // The training is over and saved: nothing is left in memory.
  void clear();

 private:
  explicit Replicas(const Parts& parts);

  bool is_free();
  void meet_machines();
  void open_folder(const std::string& key);
  Result<void> wait_for_log();
  void share(Snapshot& snapshot);
  void take_reports();
  void give_up(const std::string& why);

  Parts parts_;
  config::SaveInterval every_;
  std::int64_t machines_ = 1;
  bool is_keeper_ = false;  // the first rank of its machine
  Path folder_;
  Staging staging_;
  std::unique_ptr<dist::Mailbox> mailbox_;  // null on one machine
  std::int64_t kept_ = 0;                   // how often all ranks were asked to
  std::atomic<std::int64_t> written_ = 0;   // the one that is being written, of those
  bool is_writing_ = false;
  bool is_pending_ = false;
  Stopwatch since_;
  double cost_s_ = 0;                         // of a copy to the training, the last one's
  std::unique_ptr<checkpoint::Saver> saver_;  // the last: its thread uses what is above
};

}  // namespace kedge::train
