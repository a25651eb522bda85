// Checkpoints of one training: when one is due, the copies it is written from, and what becomes of
// it. Writing goes on beside the training; a save that fails is reported and never ends it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "checkpoint/library.h"
#include "checkpoint/saver.h"
#include "config/config.h"
#include "config/interval.h"
#include "core/result.h"
#include "core/stopwatch.h"
#include "dist/process_group.h"
#include "track/run.h"
#include "train/internal/reporter.h"
#include "train/internal/save_interval.h"
#include "train/internal/staging.h"

namespace kedge::train {

// Where the checkpoints of the run in `run` are kept.
checkpoint::Folders checkpoint_folders(const config::Config& config, const Path& run);

// Before a run folder is made: whether checkpoint.name can name checkpoints.
Result<void> check_checkpoint_name(const config::Config& config);

// The training as it is at a step boundary. The tensors are live.
struct Snapshot {
  std::vector<StateTensors> tensors;
  nlohmann::json state;
  std::int64_t step = 0;
  std::int64_t epoch = 0;
};

class Checkpoints {
 public:
  struct Parts {
    const config::Config& config;
    at::Device device;
    track::Run& run;
    Reporter& reporter;
    FailureRate failures;
    std::int64_t durable_step = -1;     // of the checkpoint that was resumed from
    bool more_is_better = true;         // of the best metric
    std::uint64_t size_bytes = 0;       // of one checkpoint
    std::set<std::string> frozen = {};  // the model's parameters that never change
    dist::ProcessGroup& group;
  };

  // An error when the disk cannot hold even one.
  static Result<std::unique_ptr<Checkpoints>> make(const Parts& parts);

  // The other ranks may be gone: a save that waits for them is given up.
  ~Checkpoints();
  Checkpoints(const Checkpoints&) = delete;
  Checkpoints& operator=(const Checkpoints&) = delete;

  // Before training: the memory that saves are copied to.
  void reserve(const std::vector<StateTensors>& tensors);

  // Whether to save at this step boundary, or at the end of this epoch.
  bool is_due(std::int64_t step);
  bool is_due_after_epoch(std::int64_t step, std::int64_t epoch);

  // Copies the snapshot and has it written. A save before it that is still being written is
  // waited for. The error of an earlier save is not this one's: it has been reported.
  Result<void> save(const Snapshot& snapshot);

  // Waits until all is durable; an error when the newest save is not.
  Result<void> finish();

  // "6 checkpoints of 1.4 GiB; training waited 210ms for them, at most 41ms"; empty: none.
  std::string summary() const;

  // Whether there is anything to go on from, and up to where.
  bool has_saved() const { return durable_step_ >= 0; }

  std::int64_t durable_step() const { return durable_step_; }

  // For the end of a finished run: nobody will resume it from the fast folder, which may be memory.
  void clear_fast_folder();

  // The time to keep free before the job ends, for a last save.
  double reserve_s() const;

 private:
  explicit Checkpoints(const Parts& parts);

  Result<void> start_saver(const checkpoint::Folders& folders);
  std::vector<StateTensors> set_frozen_apart(std::vector<StateTensors> state) const;
  std::vector<StateTensors> own_shard(const std::vector<StateTensors>& state) const;
  void take_reports();
  void choose(double cost_s);
  void tell_interval();
  double interval_s() const;

  Parts parts_;
  config::SaveInterval every_;
  Staging staging_;
  std::int64_t writers_ = 1;  // ranks that write each checkpoint together
  // Shared: the saver's thread uses it.
  std::shared_ptr<dist::Mailbox> mailbox_;
  std::unique_ptr<checkpoint::Saver> saver_;
  Stopwatch since_start_;
  Stopwatch since_save_;
  std::pair<std::int64_t, std::int64_t> last_place_ = {-1, -1};  // epoch and step last saved
  std::int64_t durable_step_ = -1;                               // the newest on the disk
  bool is_pending_ = false;                                      // due, but the saver was busy
  std::int64_t saves_ = 0;
  double stall_s_ = 0;  // of the last save
  double longest_stall_s_ = 0;
  double all_stalls_s_ = 0;
  double longest_save_s_ = 0;           // from its start until durable
  double cost_s_ = 0;                   // of a save to the training, on average
  std::optional<SaveInterval> chosen_;  // where checkpoint.every is auto
  double told_s_ = 0;
  std::optional<Error> last_error_;  // of the newest save
};

}  // namespace kedge::train
