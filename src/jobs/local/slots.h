// The cores and GPUs of this machine, shared by all local jobs of a user: a file per core and per
// GPU, and whoever has it locked (flock) has the core. The kernel frees what the dead held.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/file.h"
#include "core/result.h"

namespace kedge::jobs::local {

struct Machine {
  std::int64_t cpus = 1;
  std::vector<std::string> gpus = {};  // as in CUDA_VISIBLE_DEVICES
  Path slots;                          // the folder of the files

  // $KEDGE_LOCAL_CPUS and $KEDGE_LOCAL_GPUS ("0,1") say otherwise than the hardware.
  static Machine of_this_host();
};

class Slots {
 public:
  const std::vector<std::string>& gpus() const { return gpus_; }

 private:
  friend class SlotQueue;
  std::vector<OwnedFd> held_;
  std::vector<std::string> gpus_;
};

// One process' place in the line for slots. Whoever could not get all it wants keeps what it has
// and the head of the line, so that a large job is not passed by small ones for ever.
class SlotQueue {
 public:
  explicit SlotQueue(Machine machine) : machine_(std::move(machine)) {}

  // All that is asked for, or nothing now: ask again. Asking for other numbers than before gives
  // back what was kept. More than the machine has is waited for as if it were all.
  Result<std::optional<Slots>> take(std::int64_t cpus, std::int64_t gpus);

  // Leaves the line.
  void give_up();

 private:
  Result<void> fill(std::int64_t cpus, std::int64_t gpus);

  Machine machine_;
  OwnedFd head_;
  Slots kept_;
  std::vector<bool> has_cpu_;
  std::vector<bool> has_gpu_;
};

}  // namespace kedge::jobs::local
