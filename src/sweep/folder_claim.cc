// How a trial of a sweep's folder is taken.
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/file.h"
#include "core/result.h"
#include "search/early_stop.h"
#include "search/propose.h"
#include "search/trial.h"
#include "sweep/sweep_folder.h"
#include "track/attempt.h"

namespace kedge::sweep {
namespace {

class FolderLease : public Lease {
 public:
  explicit FolderLease(track::Attempt attempt) : attempt_(std::move(attempt)) {}

  int number() const override { return attempt_.number(); }

  bool is_lost() const override { return attempt_.is_lost(); }

  double spent_before_s() const override {
    double sum = 0;
    for (const track::AttemptFacts& attempt : track::list_attempts(attempt_.run())) {
      sum += attempt.number < attempt_.number() ? attempt.seconds : 0;
    }
    return sum;
  }

  Result<void> end(track::RunState state) override { return attempt_.end(state); }

 private:
  track::Attempt attempt_;
};

std::vector<search::Trial> trials_of(const std::vector<TrialView>& views) {
  std::vector<search::Trial> trials;
  trials.reserve(views.size());
  for (const TrialView& view : views) {
    trials.push_back(view.trial);
  }
  return trials;
}

// A holder that was killed may have written the result just before, and some file systems show that
// only after a while. Taking over is rare, so waiting costs nothing.
constexpr std::chrono::milliseconds kSettle = std::chrono::seconds(2);

// Whether a result was written, seen or not: each attempt that says "finished" or "failed" wrote
// one before it said so, and those set aside for a retry are counted. The folder is opened, because
// that makes a network file system ask its server; looking up a name may not.
bool has_ended(const Path& trial) {
  std::int64_t set_aside = 0;
  std::error_code error;
  std::filesystem::directory_iterator entry(trial, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name == "result.json") {
      return true;
    }
    set_aside += name.starts_with("result-") ? 1 : 0;
  }
  for (const track::AttemptFacts& attempt : track::list_attempts(trial)) {
    set_aside -= attempt.state == "finished" || attempt.state == "failed" ? 1 : 0;
  }
  return set_aside < 0;
}

// Whether the agent of this attempt is seen to have left the trial to others. Of one that was
// killed, or whose file is not seen yet, nobody knows what it wrote last.
bool was_left(const Path& trial, int number) {
  for (const track::AttemptFacts& attempt : track::list_attempts(trial)) {
    if (attempt.number == number) {
      return attempt.state == "interrupted";
    }
  }
  return false;
}

}  // namespace

// The trial, if nobody alive works on it and nobody has ended it meanwhile.
Result<std::optional<Job>> SweepFolder::take(const TrialView& view) {
  const Path path = trial_path(view.trial.number);
  if (has_ended(path)) {
    return std::nullopt;
  }
  auto attempt = track::Attempt::take(path, {.may_wait = false});
  if (!attempt) {
    if (attempt.error().kind == ErrorKind::Unavailable) {
      return std::nullopt;
    }
    return std::unexpected(attempt.error());
  }
  if (attempt->number() > 1 && !was_left(path, attempt->number() - 1)) {
    std::this_thread::sleep_for(kSettle);
  }
  if (has_ended(path)) {
    KEDGE_TRY(attempt->end(track::RunState::Interrupted));
    return std::nullopt;
  }
  if (attempt->number() > kAttemptsMax) {
    const bool is_ours = KEDGE_TRY(add_result(view.trial.number, never_ended()));
    KEDGE_TRY(attempt->end(is_ours ? track::RunState::Failed : track::RunState::Interrupted));
    return std::nullopt;
  }
  return Job{view, std::make_unique<FolderLease>(std::move(*attempt))};
}

Result<Claim> SweepFolder::claim() {
  const auto views = KEDGE_TRY(read_trials());
  Claim claim;
  for (const TrialView& view : views) {
    if (view.trial.state != search::TrialState::Waiting &&
        view.trial.state != search::TrialState::Running) {
      continue;
    }
    ++claim.open_count;
    if ((claim.job = KEDGE_TRY(take(view)))) {
      return claim;
    }
  }
  const auto trials = trials_of(views);
  for (const std::size_t index : search::find_promotions(plan(), trials)) {
    if ((claim.job = KEDGE_TRY(take(views[index])))) {
      const Path mark = trial_path(views[index].trial.number) / "paused.json";
      std::error_code error;
      std::filesystem::remove(mark, error);
      if (error) {
        return std::unexpected(io_error("cannot remove", mark, error.value()));
      }
      claim.job->is_promoted = true;
      return claim;
    }
  }
  const auto proposals = KEDGE_TRY(search::propose(plan(), trials, 1));
  if (proposals.values.empty()) {
    claim.end = proposals.end;
    return claim;
  }
  TrialView view;
  view.trial.number = static_cast<std::int64_t>(views.size()) + 1;
  view.trial.values = proposals.values.front();
  view.run = fmt::format("{}-{:04}", facts().id, view.trial.number);
  if (KEDGE_TRY(add_trial(view.trial.number, view.trial.values))) {
    claim.job = KEDGE_TRY(take(view));
  }
  return claim;
}

}  // namespace kedge::sweep
