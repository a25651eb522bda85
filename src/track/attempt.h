// An Attempt is one process working on a run, and the run's lease: attempts/<n>.json, where the
// highest number holds the run. Of many processes, on any machines of a network file system,
// exactly one gets a number. docs/formats/run-directory.md is the layout.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/file.h"
#include "core/result.h"

namespace kedge::track {

enum class RunState : std::uint8_t { Running, Finished, Failed, Interrupted };

std::string_view name_of(RunState state);

// One value of the config that differs from the attempt before; empty: not there.
struct ConfigChange {
  std::string key;
  std::string before;
  std::string after;

  bool operator==(const ConfigChange&) const = default;
};

struct AttemptFacts {
  int number = 0;
  std::string host;
  std::int64_t pid = 0;
  std::string user;
  std::string job;         // the scheduler's number; empty: none
  std::string version;     // of kedge
  std::string started;     // UTC, ISO 8601
  std::string ended;       // the same; empty: running or killed
  double heartbeat_s = 0;  // Unix time of the last sign of life, by the file server's clock
  double seconds = 0;      // from the start to the end or the last sign of life
  std::string state;       // running, finished, failed, interrupted or killed
  std::optional<std::int64_t> from_step;  // the step it went on from; 0: the beginning
  std::vector<ConfigChange> changes;
};

// How long a holder on another machine may be silent before it counts as dead.
inline constexpr std::chrono::milliseconds kDeadAfter = std::chrono::seconds(60);
inline constexpr std::chrono::milliseconds kHeartbeatEvery = std::chrono::seconds(5);

struct TakeOptions {
  // A holder elsewhere whose last sign of life is recent may be dead: wait for the next one. With
  // false it counts as alive.
  bool may_wait = true;
  std::function<void(std::string_view line)> on_wait = {};  // told once, before waiting
  std::function<bool()> should_stop = {};                   // asked while waiting
  std::chrono::milliseconds dead_after = kDeadAfter;
  std::chrono::milliseconds heartbeat_every = kHeartbeatEvery;
};

class Attempt {
 public:
  // Takes the run from nobody or from a dead holder. Unavailable, naming the holder, when it is
  // alive; Interrupted when should_stop() said so.
  static Result<Attempt> take(const Path& run, const TakeOptions& options = {});

  Attempt(Attempt&&) noexcept;
  Attempt& operator=(Attempt&&) noexcept;

  // Without end(), the attempt is marked as killed.
  ~Attempt();

  int number() const;
  const Path& run() const;

  // Whether somebody else has taken the run since, as far as the last heartbeat saw. Cheap.
  bool is_lost() const;

  // Looks now: Unavailable when the run was taken by somebody else. For the moment before
  // something is written that two processes must not both write. May block on a slow disk.
  Result<void> confirm();

  Result<void> set_facts(std::int64_t from_step, const std::vector<ConfigChange>& changes);

  // Says how it ended and lets the run go.
  Result<void> end(RunState state);

 private:
  class Impl;
  explicit Attempt(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// In order of their numbers. An attempt file nobody can read has only its number and heartbeat.
std::vector<AttemptFacts> list_attempts(const Path& run);

// The attempt that holds the run and is alive. Waits, where the options allow it, to be certain.
Result<std::optional<AttemptFacts>> find_live_holder(const Path& run,
                                                     const TakeOptions& options = {});

}  // namespace kedge::track
