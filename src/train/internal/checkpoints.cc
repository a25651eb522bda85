#include "train/internal/checkpoints.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>
#include <thread>

#include <fmt/format.h>

#include "core/log.h"
#include "core/units.h"

namespace kedge::train {
namespace {

// Until a save has been measured: how long the first one may be put off, and how fast a disk is.
constexpr double kFirstSaveAfter_s = 30;
constexpr double kAssumedBytesPerSecond = 100e6;

checkpoint::Retention retention_of(const config::CheckpointConfig& config, bool more_is_better) {
  const auto forever = config::parse_keep_interval(config.keep_every);
  KEDGE_CHECK(forever, "the config has been validated");
  return {.keep_last = config.keep_last,
          .keep_best = config.keep_best,
          .more_is_better = more_is_better,
          .keep_every_steps = forever->steps,
          .keep_every_epochs = forever->epochs};
}

// Before hours of training rather than after: can the disk take what will be saved?
Result<void> check_disk(const Checkpoints::Parts& parts, const checkpoint::Folders& folders) {
  KEDGE_TRY(checkpoint::check_room(folders.durable, parts.size_bytes));
  if (!folders.fast.empty()) {
    KEDGE_TRY(make_dirs(folders.fast));
    KEDGE_TRY(checkpoint::check_room(folders.fast, parts.size_bytes));
  }
  // One more than is kept, because the newest is complete before the oldest goes.
  const config::CheckpointConfig& config = parts.config.checkpoint;
  const auto count = static_cast<std::uint64_t>(config.keep_last + config.keep_best + 1);
  if (const auto room = checkpoint::check_room(folders.durable, count * parts.size_bytes); !room) {
    warn("checkpoints of {} each, {} at a time: {}; lower checkpoint.keep_last or keep_best",
         render_bytes({parts.size_bytes}), count, room.error().message);
  }
  if (!parts.group.is_alone() && folders.fast.empty() &&
      checkpoint::is_network_storage(folders.durable)) {
    warn(
        "{} ranks save their shards straight to {}: many writers at once are slow there; set "
        "checkpoint.fast_dir to local storage and have them copied",
        parts.group.size(), checkpoint::storage_kind(folders.durable));
  }
  return {};
}

// What is not the same on every rank has come to the first.
bool is_of_first(const StateTensors& group) {
  return group.spread != checkpoint::Spread::Replicated;
}

// A process that was killed between a save and its links has left the old ones.
Result<void> mend_links(const Path& folder, bool more_is_better) {
  const auto listing = KEDGE_TRY(checkpoint::list_checkpoints({.durable = folder}));
  return checkpoint::update_links(folder, listing.entries, more_is_better);
}

// All ranks write where all see one folder; on machines without a common disk only rank 0 does.
Result<std::int64_t> count_writers(const Checkpoints::Parts& parts,
                                   const checkpoint::Folders& folders) {
  dist::ProcessGroup& group = parts.group;
  if (group.is_alone()) {
    return 1;
  }
  const Path folder = folders.fast.empty() ? folders.durable : folders.fast;
  const Path probe = folder / fmt::format(".shared-{}", parts.run.attempt());
  if (group.is_first()) {
    KEDGE_TRY(make_dirs(folder));
    KEDGE_TRY(write_file_atomic(probe, "can all ranks see this?\n"));
  }
  group.barrier();
  std::error_code ignored;
  std::vector<double> seen = {std::filesystem::exists(probe, ignored) ? 1.0 : 0.0};
  dist::all_reduce_sum(group, seen);
  if (group.is_first()) {
    std::filesystem::remove(probe, ignored);
  }
  return static_cast<std::int64_t>(seen.front()) == group.size() ? group.size() : 1;
}

}  // namespace

checkpoint::Folders checkpoint_folders(const config::Config& config, const Path& run) {
  checkpoint::Folders folders{.durable = run / "checkpoints"};
  if (!config.checkpoint.fast_dir.empty()) {
    folders.fast = Path(config.checkpoint.fast_dir) / config.run.project / run.filename();
  }
  return folders;
}

Result<void> check_checkpoint_name(const config::Config& config) {
  KEDGE_TRY(checkpoint::render_name(config.checkpoint.name, {.run = "run"}));
  return {};
}

Checkpoints::Checkpoints(const Parts& parts)
    : parts_(parts),
      every_(*config::parse_save_interval(parts.config.checkpoint.every)),
      staging_(parts.device),
      durable_step_(parts.durable_step) {}

Result<std::unique_ptr<Checkpoints>> Checkpoints::make(const Parts& parts) {
  const checkpoint::Folders folders = checkpoint_folders(parts.config, parts.run.path());
  std::unique_ptr<Checkpoints> made(new Checkpoints(parts));
  if (!parts.config.checkpoint.enabled) {
    return made;
  }
  if (parts.group.is_first()) {
    KEDGE_TRY(check_disk(parts, folders));
    if (const auto mended = mend_links(folders.durable, parts.more_is_better); !mended) {
      warn("{}: the links last and best may be old", mended.error().message);
    }
  }
  made->writers_ = KEDGE_TRY(count_writers(parts, folders));
  if (made->writers_ > 1 || parts.group.is_first()) {
    KEDGE_TRY(made->start_saver(folders));
  }
  return made;
}

Checkpoints::~Checkpoints() {
  if (mailbox_ != nullptr) {
    mailbox_->close();
  }
}

Result<void> Checkpoints::start_saver(const checkpoint::Folders& folders) {
  checkpoint::SaverOptions options{
      .folders = folders,
      .retention = retention_of(parts_.config.checkpoint, parts_.more_is_better),
      .verify = parts_.config.checkpoint.verify,
      // A committed checkpoint must never claim steps whose metrics a crash could still lose.
      .before_commit = [&run = parts_.run] { return run.sync(); }};
  if (writers_ > 1) {
    mailbox_ = parts_.group.open_mailbox();
    options.writers = {
        .index = parts_.group.rank(),
        .count = writers_,
        .put = [mail = mailbox_](const std::string& key,
                                 const std::string& text) { mail->put(key, text); },
        .take = [mail = mailbox_](const std::string& key) { return mail->take(key); }};
  }
  saver_ = std::make_unique<checkpoint::Saver>(std::move(options));
  return {};
}

// The model's frozen parameters as a part of their own, where checkpoints link to them.
std::vector<StateTensors> Checkpoints::set_frozen_apart(std::vector<StateTensors> state) const {
  if (!parts_.config.checkpoint.link_frozen && !parts_.config.model.lora.is_on()) {
    return state;
  }
  const auto model = std::ranges::find(state, "model", &StateTensors::name);
  StateTensors frozen{.name = "model", .tensors = {}, .is_frozen = true};
  std::erase_if(model->tensors, [&](const auto& named) {
    if (!parts_.frozen.contains(named.first)) {
      return false;
    }
    frozen.tensors.push_back(named);
    return true;
  });
  if (!frozen.tensors.empty()) {
    state.insert(state.begin(), std::move(frozen));
  }
  return state;
}

// Of the tensors that all ranks have, those that this one writes. Small sums and random states are
// gathered on rank 0, which writes them.
std::vector<StateTensors> Checkpoints::own_shard(const std::vector<StateTensors>& state) const {
  const std::vector<StateTensors> tensors = set_frozen_apart(state);
  if (writers_ == 1) {
    return tensors;
  }
  std::vector<std::uint64_t> sizes;
  for (const StateTensors& group : tensors) {
    for (const auto& [name, tensor] : group.tensors) {
      sizes.push_back(is_of_first(group) ? 0 : tensor.nbytes());
    }
  }
  const auto owners = checkpoint::assign_writers(sizes, static_cast<std::size_t>(writers_));
  const auto own = static_cast<std::size_t>(parts_.group.rank());
  std::vector<StateTensors> shard;
  std::size_t next = 0;
  for (const StateTensors& group : tensors) {
    StateTensors piece{.name = group.name, .tensors = {}, .is_frozen = group.is_frozen};
    for (const auto& named : group.tensors) {
      const std::size_t owner = is_of_first(group) ? 0 : owners[next];
      ++next;
      if (owner == own) {
        piece.tensors.push_back(named);
      }
    }
    shard.push_back(std::move(piece));
  }
  return shard;
}

void Checkpoints::reserve(const std::vector<StateTensors>& tensors) {
  if (saver_ != nullptr) {
    staging_.reserve(own_shard(tensors));
  }
}

double Checkpoints::interval_s() const {
  if (!every_.is_auto) {
    return every_.time.value;
  }
  return chosen_ ? chosen_->seconds : kFirstSaveAfter_s;
}

bool Checkpoints::is_due(std::int64_t step) {
  if (saver_ == nullptr) {
    return false;
  }
  take_reports();
  tell_interval();
  const bool is_timed = every_.is_auto || every_.time.value > 0;
  if ((every_.steps > 0 && step % every_.steps == 0) ||
      (is_timed && since_save_.seconds() >= interval_s())) {
    is_pending_ = true;
  }
  return is_pending_ && !saver_->is_busy();
}

bool Checkpoints::is_due_after_epoch(std::int64_t step, std::int64_t epoch) {
  return is_due(step) || (saver_ != nullptr && every_.epochs > 0 && epoch % every_.epochs == 0);
}

Result<void> Checkpoints::save(const Snapshot& snapshot) {
  const std::pair<std::int64_t, std::int64_t> place(snapshot.epoch, snapshot.step);
  if (saver_ == nullptr || place == last_place_) {
    return {};
  }
  const Stopwatch watch;
  while (saver_->is_busy()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const std::string name = KEDGE_TRY(checkpoint::render_name(
      parts_.config.checkpoint.name, {.step = snapshot.step,
                                      .epoch = snapshot.epoch,
                                      .seed = static_cast<std::uint64_t>(parts_.config.seed),
                                      .run = parts_.run.id()}));
  saver_->start({.name = name,
                 .parts = staging_.copy(own_shard(snapshot.tensors)),
                 .state = snapshot.state,
                 .memory = nullptr});
  last_place_ = place;
  is_pending_ = false;
  if (!parts_.config.checkpoint.async) {
    saver_->wait();
  }
  since_save_.restart();
  stall_s_ = watch.seconds();
  ++saves_;
  all_stalls_s_ += stall_s_;
  longest_stall_s_ = std::max(longest_stall_s_, stall_s_);
  take_reports();
  return {};
}

Result<void> Checkpoints::finish() {
  if (saver_ == nullptr) {
    return {};
  }
  saver_->wait();
  take_reports();
  return last_error_ ? Result<void>(std::unexpected(*last_error_)) : Result<void>();
}

void Checkpoints::clear_fast_folder() {
  const Path fast = checkpoint_folders(parts_.config, parts_.run.path()).fast;
  saver_.reset();
  std::error_code ignored;
  if (!fast.empty() && parts_.group.is_first()) {
    std::filesystem::remove_all(fast, ignored);
  }
}

std::string Checkpoints::summary() const {
  if (saves_ == 0) {
    return {};
  }
  return fmt::format("{} checkpoints of {}; training waited {} for them, at most {} at a time",
                     saves_, render_bytes({parts_.size_bytes}), render_seconds({all_stalls_s_}),
                     render_seconds({longest_stall_s_}));
}

double Checkpoints::reserve_s() const {
  if (saver_ == nullptr) {
    return 0;
  }
  const double guess = static_cast<double>(parts_.size_bytes) / kAssumedBytesPerSecond;
  constexpr double kSafety = 1.5;
  constexpr double kExit_s = 1;  // to end the process
  return kSafety * (longest_save_s_ > 0 ? longest_save_s_ : guess) + kExit_s;
}

void Checkpoints::take_reports() {
  for (const checkpoint::SaveReport& report : saver_->take_reports()) {
    for (const Error& trouble : report.trouble) {
      warn("{}", trouble.message);
    }
    if (!report.result) {
      last_error_ = report.result.error();
      const std::string text = fmt::format("checkpoint {} was not saved: {}", report.name,
                                           report.result.error().message);
      if (parts_.group.is_first()) {
        warn("{}; training goes on, the older ones are untouched", text);
      }
      parts_.run.alert("checkpoint not saved", text, track::AlertLevel::Error);
      continue;
    }
    longest_save_s_ = std::max(longest_save_s_, stall_s_ + report.write_s + report.verify_s);
    if (report.is_durable) {
      last_error_.reset();
      durable_step_ = std::max(durable_step_, report.step);
      parts_.run.log_artifact({.name = report.name,
                               .type = "checkpoint",
                               .location = "checkpoints/" + report.name,
                               .digest = {},
                               .size = report.bytes},
                              report.step);
    }
    const std::array<track::Scalar, 3> scalars = {{{"checkpoint/stall_s", stall_s_},
                                                   {"checkpoint/write_s", report.write_s},
                                                   {"checkpoint/verify_s", report.verify_s}}};
    parts_.run.log_system(scalars);
    if (every_.is_auto) {
      // On the CPU the saver's thread takes its time from the training.
      choose(stall_s_ + (parts_.device.is_cpu() ? report.cpu_s : 0));
    }
  }
}

// One save tells little about the next on a busy machine, so the cost is an average.
void Checkpoints::choose(double cost_s) {
  constexpr double kWeight = 0.2;
  cost_s_ = chosen_ ? (1 - kWeight) * cost_s_ + kWeight * cost_s : cost_s;
  chosen_ = choose_interval(cost_s_, parts_.failures.mean_s);
}

// Said once it matters, and when it has changed a lot.
void Checkpoints::tell_interval() {
  constexpr double kSoonest_s = 10;
  if (!chosen_ || since_start_.seconds() < kSoonest_s ||
      (chosen_->seconds < 2 * told_s_ && chosen_->seconds > told_s_ / 2)) {
    return;
  }
  told_s_ = chosen_->seconds;
  parts_.reporter.say(fmt::format(
      "saving   every {} (auto: a save costs {}, a failure every {} expected, {} seen; {:.2g}% of "
      "the time is lost)",
      render_seconds({chosen_->seconds}), render_seconds({cost_s_}),
      render_seconds({parts_.failures.mean_s}), parts_.failures.failures, chosen_->loss * 100));
}

}  // namespace kedge::train
