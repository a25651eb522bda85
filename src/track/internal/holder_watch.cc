#include "track/internal/holder_watch.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "core/log.h"
#include "core/result.h"

namespace kedge::track {
namespace {

constexpr std::chrono::milliseconds kPollAtMost = std::chrono::seconds(1);

bool is_unknown(const HolderWatch& watch) {
  return watch.life() == Life::Unknown;
}

}  // namespace

Result<HolderWatch> HolderWatch::begin(const Path& run, const ProcessIdentity& here) {
  const auto numbers = KEDGE_TRY(list_attempt_numbers(run));
  HolderWatch watch(run, numbers.empty() ? 0 : numbers.back());
  if (numbers.empty()) {
    watch.life_ = Life::Dead;
    return watch;
  }
  const Path path = attempt_path(run, watch.number_);
  watch.file_ = read_attempt(path);
  watch.modified_s_ = find_modified_s(path).value_or(0);
  if (watch.file_) {
    watch.life_ = watch.file_->ended.empty() ? judge_life(watch.file_->process, here) : Life::Dead;
  }
  if (watch.life_ == Life::Unknown) {
    watch.clock_ = std::make_unique<ServerClock>(run);
    watch.age_s_ = watch.clock_->now_s() - watch.modified_s_;
  }
  return watch;
}

Result<void> HolderWatch::look(std::chrono::milliseconds dead_after) {
  const auto numbers = KEDGE_TRY(list_attempt_numbers(run_));
  const Path path = attempt_path(run_, number_);
  const double now_s = clock_->now_s();
  const double modified_s = find_modified_s(path).value_or(modified_s_);
  age_s_ = now_s - modified_s;
  if (!numbers.empty() && numbers.back() != number_) {
    number_ = numbers.back();
    file_ = read_attempt(attempt_path(run_, number_));
    age_s_ = 0;
    life_ = Life::Alive;  // somebody has just taken it
    return {};
  }
  if (modified_s != modified_s_) {
    file_ = read_attempt(path);
    life_ = file_ && !file_->ended.empty() ? Life::Dead : Life::Alive;
  } else if (age_s_ > std::chrono::duration<double>(dead_after).count()) {
    life_ = Life::Dead;
  }
  return {};
}

std::string HolderWatch::describe() const {
  if (!file_) {
    return fmt::format("attempt {} (whose file cannot be read)", number_);
  }
  const ProcessIdentity& process = file_->process;
  std::string text = fmt::format("process {} on {} (attempt {}, user {}", process.pid, process.host,
                                 number_, process.user);
  if (!process.job.empty()) {
    text += ", job " + process.job;
  }
  text += fmt::format(") since {}", file_->started);
  if (clock_) {
    text += fmt::format(", last sign of life {:.0f} s ago", std::max(age_s_, 0.0));
  }
  return text;
}

Result<void> resolve_holders(std::span<HolderWatch> watches, const TakeOptions& options) {
  const auto poll = std::clamp<std::chrono::milliseconds>(
      options.dead_after / 40, std::chrono::milliseconds(1), kPollAtMost);
  bool has_told = false;
  for (;;) {
    for (HolderWatch& watch : watches) {
      if (is_unknown(watch)) {
        KEDGE_TRY(watch.look(options.dead_after));
      }
    }
    const auto unknown = std::ranges::find_if(watches, is_unknown);
    if (unknown == watches.end()) {
      return {};
    }
    if (!options.may_wait) {
      for (HolderWatch& watch : watches) {
        watch.assume(is_unknown(watch) ? Life::Alive : watch.life());
      }
      return {};
    }
    if (options.should_stop && options.should_stop()) {
      return fail(ErrorKind::Interrupted, "stopped while waiting for " + unknown->describe());
    }
    if (!std::exchange(has_told, true)) {
      const std::string line = fmt::format("waiting to see whether {} is alive (up to {} s)",
                                           unknown->describe(), options.dead_after.count() / 1000);
      if (options.on_wait) {
        options.on_wait(line);
      } else {
        say("{}", line);
      }
    }
    std::this_thread::sleep_for(poll);
  }
}

}  // namespace kedge::track
