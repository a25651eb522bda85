#include "train/internal/replicas.h"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <torch/types.h>
#include <unistd.h>

#include "checkpoint/replica.h"
#include "core/hash.h"
#include "core/host_name.h"
#include "core/log.h"
#include "ranks/rank_board.h"
#include "track/attempt.h"

namespace kedge::train {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{64} << 20U;

// Two ranks with one of these share their memory: containers may have one host's name.
std::string machine_name() {
  struct stat info{};
  ::stat(checkpoint::kMemoryFolder, &info);
  return fmt::format("{}:{}", host_name(), info.st_dev);
}

Path own_folder(const std::string& key) {
  return checkpoint::replica_folder(checkpoint::replicas_of_user(), key, host_name());
}

struct Offer {
  SavedPlace place;
  Path path;
  std::string name;
  std::vector<std::pair<std::string, std::uint64_t>> files;  // name and bytes
};

Offer own_offer(const std::string& key) {
  Offer offer;
  const auto found = checkpoint::find_replica(own_folder(key));
  if (!found) {
    return offer;
  }
  offer.path = found->path;
  offer.name = found->name;
  std::error_code error;
  for (std::filesystem::directory_iterator file(offer.path, error), end; !error && file != end;
       file.increment(error)) {
    std::error_code unknown;
    const auto bytes = file->file_size(unknown);
    offer.files.emplace_back(file->path().filename(), unknown ? 0 : bytes);
  }
  offer.place = {.step = found->step, .epoch = found->epoch};
  return offer;
}

nlohmann::json to_json(const Offer& offer) {
  return {{"step", offer.place.step},
          {"epoch", offer.place.epoch},
          {"name", offer.name},
          {"files", offer.files},
          {"machine", machine_name()}};
}

SavedPlace place_of(const nlohmann::json& offer) {
  return {.step = offer.at("step"), .epoch = offer.at("epoch")};
}

// From `owner` to rank 0. Whatever goes wrong on one side, both make the same calls.
Result<Path> bring(dist::ProcessGroup& group, std::int64_t owner, const nlohmann::json& offer,
                   const Offer& own, const std::string& key) {
  std::optional<checkpoint::ReplicaImport> import;
  Result<void> done;
  if (group.is_first()) {
    done = checkpoint::make_replica_folder(checkpoint::replicas_of_user(), own_folder(key));
    import.emplace(own_folder(key), offer.at("name").get<std::string>());
  }
  for (const auto& file : offer.at("files")) {
    const auto name = file.at(0).get<std::string>();
    const auto bytes = file.at(1).get<std::size_t>();
    const auto map = group.rank() == owner ? MappedFile::open(own.path / name) : MappedFile();
    for (std::size_t at = 0; at < bytes; at += kBlockBytes) {
      const std::size_t size = std::min(kBlockBytes, bytes - at);
      at::Tensor block = torch::zeros({static_cast<std::int64_t>(size)}, torch::kByte);
      if (map && map->bytes().size() >= at + size) {
        std::copy_n(map->bytes().data() + at, size, block.data_ptr<std::uint8_t>());
      }
      group.broadcast(block, owner);
      if (import && done) {
        done = import->append(name, {block.const_data_ptr<std::uint8_t>(), size});
      }
    }
  }
  if (!import || !done) {
    return done ? fail(ErrorKind::NotFound, "") : std::unexpected(done.error());
  }
  return import->commit();
}

}  // namespace

std::string replica_key(const Path& run) {
  const auto attempts = track::list_attempts(run);
  if (attempts.empty()) {
    return {};
  }
  const track::AttemptFacts& first = attempts.front();
  const std::string facts = fmt::format("{}\n{}\n{}\n{}", std::filesystem::absolute(run).string(),
                                        first.host, first.pid, first.started);
  return fmt::format("{}-{:016x}", run.filename().string(), xxh3_64(as_bytes(facts)));
}

std::optional<checkpoint::Newest> find_newest_replica(dist::ProcessGroup& group,
                                                      const std::string& key,
                                                      const SavedPlace& on_disk) {
  const Offer own = own_offer(key);
  nlohmann::json text = to_json(own);
  text["disk"] = {on_disk.step, on_disk.epoch};
  std::vector<nlohmann::json> offers;
  for (const std::string& offer : dist::all_gather_texts(group, text.dump())) {
    offers.push_back(nlohmann::json::parse(offer));
  }
  const auto best = std::ranges::max_element(offers, {}, place_of);  // of equal ones the first
  const nlohmann::json& disk = offers.front().at("disk");
  const SavedPlace saved{.step = disk.at(0), .epoch = disk.at(1)};
  if (place_of(*best).step < 0 || place_of(*best) < saved) {
    return std::nullopt;
  }
  const bool is_here = best->at("machine") == offers.front().at("machine");
  const auto owner = best - offers.begin();
  const Result<Path> path = is_here ? Result<Path>(own.path) : bring(group, owner, *best, own, key);
  if (!group.is_first()) {
    return std::nullopt;
  }
  auto opened = path ? checkpoint::open_replica(*path) : std::unexpected(path.error());
  if (!opened) {
    warn("the state in memory cannot be used: {}; going on from the disk", opened.error().message);
    return std::nullopt;
  }
  const auto machine = best->at("machine").get<std::string>();
  checkpoint::Newest newest{.checkpoint = std::move(*opened), .entry = {}, .bad = {}};
  newest.entry.path = *path;
  newest.entry.name = fmt::format("the memory of {}", machine.substr(0, machine.rfind(':')));
  newest.entry.step = place_of(*best).step;
  newest.entry.epoch = place_of(*best).epoch;
  return newest;
}

std::unique_ptr<Replicas> Replicas::make(const Parts& parts) {
  const auto every = config::parse_save_interval(parts.config.dist.replicas);
  KEDGE_CHECK(every, "the config has been validated");
  if (!every->is_auto && every->steps == 0 && every->time.value == 0) {
    return nullptr;
  }
  std::unique_ptr<Replicas> made(new Replicas(parts));
  made->meet_machines();
  return made;
}

Replicas::Replicas(const Parts& parts)
    : parts_(parts),
      every_(*config::parse_save_interval(parts.config.dist.replicas)),
      staging_(parts.device) {}

Replicas::~Replicas() {
  if (mailbox_ != nullptr) {
    mailbox_->close();
  }
}

void Replicas::meet_machines() {
  dist::ProcessGroup& group = parts_.group;
  const std::string key = dist::broadcast_text(group, parts_.key);
  std::vector<std::string> machines = {machine_name()};
  if (!group.is_alone()) {
    machines = dist::all_gather_texts(group, machines.front());
  }
  is_keeper_ = std::ranges::find(machines, machine_name()) - machines.begin() == group.rank();
  std::ranges::sort(machines);
  machines_ = std::ranges::unique(machines).begin() - machines.begin();
  if (machines_ > 1) {
    mailbox_ = group.open_mailbox();
  }
  if (is_keeper_ && !key.empty()) {
    open_folder(key);
  }
}

void Replicas::open_folder(const std::string& key) {
  folder_ = own_folder(key);
  ranks::show_memory(folder_.string());
  if (const auto made = checkpoint::make_replica_folder(checkpoint::replicas_of_user(), folder_);
      !made) {
    give_up(made.error().message);
    return;
  }
  saver_ = std::make_unique<checkpoint::Saver>(
      checkpoint::SaverOptions{.folders = {.durable = folder_},
                               .retention = {.keep_last = 1, .keep_best = 0},
                               .verify = false,  // read back when it is used
                               .before_commit = [this] { return wait_for_log(); }});
}

// A replica must not claim steps whose metrics could still be lost; rank 0 has the log.
Result<void> Replicas::wait_for_log() {
  const std::string key = fmt::format("replica/{}", written_.load());
  try {
    if (!parts_.group.is_first()) {
      const std::string trouble = mailbox_->take(key);
      return trouble.empty() ? Result<void>() : fail(ErrorKind::Unavailable, trouble);
    }
    const Result<void> synced = parts_.run.sync();
    if (mailbox_ != nullptr) {
      mailbox_->put(key, synced ? "" : synced.error().message);
    }
    return synced;
  } catch (const std::exception& error) {
    return fail(ErrorKind::Unavailable, error.what());
  }
}

// Whether another copy can begin: the one before is written, or there is none.
bool Replicas::is_free() {
  if (saver_ != nullptr) {
    take_reports();
  }
  return saver_ != nullptr && !is_writing_;
}

bool Replicas::is_due(std::int64_t step) {
  // A copy may take this share of the time; where the disk is slow, replicas are the cheap ones.
  constexpr double kShare = 0.02;
  constexpr double kShortest_s = 1;
  const double interval_s =
      every_.is_auto ? std::max(kShortest_s, cost_s_ / kShare) : every_.time.value;
  if (every_.steps > 0 ? step % every_.steps == 0 : since_.seconds() >= interval_s) {
    is_pending_ = true;
  }
  return is_pending_ && is_free();
}

// Rank 0 alone has the sums and counts of all.
void Replicas::share(Snapshot& snapshot) {
  dist::ProcessGroup& group = parts_.group;
  snapshot.state = nlohmann::json::parse(dist::broadcast_text(group, snapshot.state.dump()));
  for (StateTensors& part : snapshot.tensors) {
    if (part.spread != checkpoint::Spread::FirstRank) {
      continue;
    }
    for (auto& [name, tensor] : part.tensors) {
      tensor = tensor.clone();
      group.broadcast(tensor);
    }
  }
}

void Replicas::keep(Snapshot snapshot) {
  const Stopwatch watch;
  if (machines_ > 1) {
    share(snapshot);
  }
  is_pending_ = false;
  since_.restart();
  ++kept_;
  // A machine that is slower than rank 0's leaves one out; the older one is still whole.
  if (!is_free()) {
    return;
  }
  is_writing_ = true;
  written_ = kept_;
  saver_->start({.name = fmt::format("step-{:08}", snapshot.step),
                 .parts = staging_.copy(snapshot.tensors),
                 .state = std::move(snapshot.state),
                 .memory = nullptr});
  cost_s_ = watch.seconds();
}

void Replicas::take_reports() {
  for (const checkpoint::SaveReport& report : saver_->take_reports()) {
    is_writing_ = false;
    if (!report.result) {
      give_up(report.result.error().message);
      return;
    }
    // On the CPU the saver's thread takes its time from the training.
    cost_s_ += parts_.device.is_cpu() ? report.cpu_s : 0;
  }
}

void Replicas::give_up(const std::string& why) {
  saver_.reset();
  const std::string text =
      fmt::format("no replicas in memory from now on: {}; lost ranks go on from the disk", why);
  warn("{}", text);
  parts_.run.alert("no replicas in memory", text, track::AlertLevel::Warning);
}

void Replicas::clear() {
  if (mailbox_ != nullptr && !parts_.group.is_first()) {
    mailbox_->close();  // rank 0 may have given up before it had a word for us
  }
  saver_.reset();
  if (is_keeper_ && !folder_.empty()) {
    checkpoint::remove_replicas(folder_);
  }
}

}  // namespace kedge::train
