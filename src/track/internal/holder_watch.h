// Finds out whether the process that holds a run is alive, by waiting for its next sign of life
// where the kernel cannot tell.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "core/file.h"
#include "core/result.h"
#include "track/attempt.h"
#include "track/internal/attempt_file.h"
#include "track/internal/identity.h"

namespace kedge::track {

class HolderWatch {
 public:
  static Result<HolderWatch> begin(const Path& run, const ProcessIdentity& here);

  // Dead also when nobody holds the run or its holder has ended.
  Life life() const { return life_; }

  // Looks again: a changed file is a sign of life, an old one that of death.
  Result<void> look(std::chrono::milliseconds dead_after);

  int number() const { return number_; }  // of the last attempt; 0: none yet

  void assume(Life life) { life_ = life; }

  std::string describe() const;

 private:
  HolderWatch(Path run, int number) : run_(std::move(run)), number_(number) {}

  Path run_;
  int number_;
  Life life_ = Life::Unknown;
  std::optional<AttemptFile> file_;
  double modified_s_ = 0;
  double age_s_ = 0;
  std::unique_ptr<ServerClock> clock_;  // only while the kernel cannot tell
};

// Waits until each is known to be alive or dead.
Result<void> resolve_holders(std::span<HolderWatch> watches, const TakeOptions& options);

}  // namespace kedge::track
