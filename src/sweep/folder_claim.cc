// How a trial of a sweep's folder is taken.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "core/file.h"
#include "core/result.h"
#include "search/hand_out.h"
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
  return Job{view, std::make_unique<FolderLease>(std::move(*attempt))};
}

Result<void> SweepFolder::give_up(std::int64_t number, Lease& lease) {
  const bool is_ours = KEDGE_TRY(add_result(number, never_ended()));
  return lease.end(is_ours ? track::RunState::Failed : track::RunState::Interrupted);
}

Result<void> SweepFolder::promote(std::int64_t number) {
  const Path mark = trial_path(number) / "paused.json";
  std::error_code error;
  std::filesystem::remove(mark, error);
  return error ? std::unexpected(io_error("cannot remove", mark, error.value())) : Result<void>();
}

Result<std::optional<Job>> SweepFolder::begin(const search::Offer& offer) {
  TrialView view;
  view.trial.number = offer.number;
  view.trial.values = offer.values;
  view.run = run_name(facts().id, offer.number);
  return KEDGE_TRY(add_trial(offer.number, offer.values)) ? take(view)
                                                          : Result<std::optional<Job>>();
}

Result<Claim> SweepFolder::claim() {
  const auto views = KEDGE_TRY(read_trials());
  auto trials = trials_of(views);
  for (search::Trial& trial : trials) {  // whether somebody works on it shows when it is taken
    trial.state =
        trial.state == search::TrialState::Running ? search::TrialState::Waiting : trial.state;
  }
  for (;;) {
    const search::Offer offer = KEDGE_TRY(search::next_offer(plan(), trials));
    if (offer.kind == search::Offer::Kind::None) {
      return Claim{.end = offer.end,
                   .open_count = std::ranges::count(trials, search::TrialState::Running,
                                                    &search::Trial::state)};
    }
    if (offer.kind == search::Offer::Kind::New) {
      return Claim{.job = KEDGE_TRY(begin(offer))};
    }
    search::Trial& trial = trials[offer.index];
    auto job = KEDGE_TRY(take(views[offer.index]));
    if (!job) {
      trial.state = search::TrialState::Running;
      continue;
    }
    if (offer.kind == search::Offer::Kind::GiveUp) {
      KEDGE_TRY(give_up(trial.number, *job->lease));
      trial.state = search::TrialState::Failed;
      continue;
    }
    job->is_promoted = offer.kind == search::Offer::Kind::Promote;
    if (job->is_promoted) {
      KEDGE_TRY(promote(trial.number));
    }
    return Claim{.job = std::move(job)};
  }
}

}  // namespace kedge::sweep
