#include "train/internal/ranks.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <utility>
#include <vector>

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <torch/types.h>

#include "core/stopwatch.h"
#include "device/plugin.h"
#include "dist/meeting.h"
#include "ranks/rank_board.h"
#include "ranks/rank_place.h"
#include "ranks/rank_report.h"
#include "train/torch_guard.h"

namespace kedge::train {
namespace {

std::chrono::milliseconds milliseconds_of(Seconds seconds) {
  return std::chrono::ceil<std::chrono::milliseconds>(std::chrono::duration<double>(seconds.value));
}

// Before the libraries read them.
void set_debug_variables() {
  ::setenv("NCCL_DEBUG", "INFO", 0);
  ::setenv("TORCH_CPP_LOG_LEVEL", "INFO", 0);
  ::setenv("TORCH_DISTRIBUTED_DEBUG", "DETAIL", 0);
}

dist::Transport transport_of(config::Backend backend) {
  switch (backend) {
    case config::Backend::Gloo:
      return dist::Transport::Gloo;
    case config::Backend::Nccl:
      return dist::Transport::Nccl;
    case config::Backend::Auto:
      break;
  }
  return dist::Transport::Auto;
}

std::string why_no_gpu(const config::Config& config) {
  if (config.train.device == config::DeviceChoice::Cpu) {
    return "train.device is cpu";
  }
  return device::plugin() == nullptr ? device::why_missing() : "";
}

// Ranks with different configs would train on without a word and come to nothing.
Result<void> compare_configs(const config::LoadedConfig& config, dist::ProcessGroup& group) {
  const std::vector<std::string> hashes = dist::all_gather_texts(group, config.hash());
  for (std::size_t rank = 1; rank < hashes.size(); ++rank) {
    if (hashes[rank] != hashes.front()) {
      return fail(ErrorKind::Usage, fmt::format("rank {} has another config than rank 0", rank),
                  "start all ranks with the same file and the same values");
    }
  }
  return {};
}

// Of several processes on one machine, each takes its share of the cores.
void share_cores(const ranks::RankPlace& place) {
  const int ranks = static_cast<int>(std::max<std::int64_t>(1, place.local_size));
  at::set_num_threads(std::max(1, at::get_num_threads() / ranks));
}

}  // namespace

Result<std::unique_ptr<dist::ProcessGroup>> join_ranks(const config::LoadedConfig& config) {
  auto place = KEDGE_TRY(ranks::find_rank_place(ranks::find_environment_variable));
  if (!place || place->size == 1) {
    if (config->dist.backend != config::Backend::Nccl) {
      return dist::make_single_process_group();
    }
    place = ranks::RankPlace{.host = "127.0.0.1", .source = "dist.backend=nccl"};
  }
  if (config->dist.debug) {
    set_debug_variables();
  }
  // A supervisor, or whoever set OMP_NUM_THREADS, has done so already.
  if (!ranks::find_environment_variable("OMP_NUM_THREADS")) {
    share_cores(*place);
  }
  std::unique_ptr<dist::ProcessGroup> group;
  KEDGE_TRY(catch_torch([&]() -> Result<void> {
    group = KEDGE_TRY(dist::meet({.place = *place,
                                  .interface = config->dist.interface,
                                  .init_timeout = milliseconds_of(config->dist.init_timeout),
                                  .timeout = milliseconds_of(config->dist.timeout),
                                  .transport = transport_of(config->dist.backend),
                                  .why_no_gpu = why_no_gpu(*config)}));
    ranks::show_phase(ranks::RankPhase::Preparing);
    return compare_configs(config, *group);
  }));
  return group;
}

std::unique_ptr<track::Run> broadcast_run(dist::ProcessGroup& group,
                                          std::unique_ptr<track::Run> run) {
  if (group.is_alone()) {
    return run;
  }
  nlohmann::json names;
  if (run != nullptr) {
    names = {{"path", std::filesystem::absolute(run->path()).string()},
             {"id", run->id()},
             {"name", run->name()},
             {"attempt", run->attempt()}};
  }
  names = nlohmann::json::parse(dist::broadcast_text(group, names.dump()));
  if (run != nullptr) {
    return run;
  }
  return track::Run::make_silent({.path = names.at("path").get<std::string>(),
                                  .id = names.at("id"),
                                  .name = names.at("name"),
                                  .attempt = names.at("attempt")});
}

ScaledRate scale_rate(const config::Config& config, std::int64_t ranks) {
  double scale = 1;
  switch (config.dist.lr_scale) {
    case config::RateScale::Linear:
      scale = static_cast<double>(ranks);
      break;
    case config::RateScale::Sqrt:
      scale = std::sqrt(static_cast<double>(ranks));
      break;
    case config::RateScale::None:
      break;
  }
  ScaledRate scaled{.peak = config.optimizer.lr * scale, .schedule = config.schedule};
  if (scale > 1 && config.dist.lr_warmup > 0) {
    scaled.schedule.warmup = config.dist.lr_warmup;
    scaled.schedule.warmup_start = 1 / scale;
  }
  return scaled;
}

std::string describe_ranks(const config::Config& config, const dist::ProcessGroup& group) {
  if (group.is_alone()) {
    return {};
  }
  const std::int64_t batch = config.loader.batch_size;
  const bool is_global = config.dist.batch == config::BatchMeaning::Global;
  return fmt::format(
      "{}, over {}; batches of {}", group.size(), group.transport(),
      is_global ? fmt::format("{}, {:g} a rank", batch,
                              static_cast<double>(batch) / static_cast<double>(group.size()))
                : fmt::format("{}, {} a rank", batch * group.size(), batch));
}

namespace {

// Seconds for 1 MiB to rank 0 and back, one rank after the other; 0 on rank 0.
double measure_link(dist::ProcessGroup& group) {
  constexpr int kTries = 2;
  const std::string text(std::size_t{1} << 20U, 'x');
  const auto mail = group.open_mailbox();
  double fastest_s = 0;
  for (std::int64_t rank = 1; rank < group.size(); ++rank) {
    group.barrier();
    for (int i = 0; i < kTries && rank == group.rank(); ++i) {
      const std::string key = fmt::format("link/{}/{}", rank, i);
      const Stopwatch watch;
      mail->put(key, text);
      mail->take(key);
      fastest_s = i == 0 ? watch.seconds() : std::min(fastest_s, watch.seconds());
    }
  }
  group.barrier();
  return fastest_s;
}

}  // namespace

RankTimes gather_times(dist::ProcessGroup& group) {
  const ranks::RankView own = ranks::view_of(ranks::own_slot(), group.rank());
  const double whole = std::max(own.train_s, 1e-9);
  RankTimes times{.data_fraction = own.data_s / whole,
                  .collective_fraction = std::min(1.0, own.collective_s / whole),
                  .stragglers = ""};
  if (group.is_alone()) {
    return times;
  }
  const at::Tensor all = group.all_gather(torch::tensor(
      {own.data_s, own.collective_s, own.train_s, static_cast<double>(own.step)}, torch::kFloat64));
  std::vector<ranks::RankView> views;
  for (std::int64_t rank = 0; rank < group.size(); ++rank) {
    const auto* value = all[rank].const_data_ptr<double>();
    views.push_back({.rank = rank,
                     .host = "",
                     .step = static_cast<std::int64_t>(value[3]),
                     .data_s = value[0],
                     .collective_s = value[1],
                     .train_s = value[2]});
  }
  // Even the rank for which the others wait spends this much in collectives: it is the network's.
  constexpr double kMuch = 0.2;
  if (std::ranges::all_of(views, [](const ranks::RankView& view) {
        return view.collective_s > kMuch * view.train_s;
      })) {
    const at::Tensor links =
        group.all_gather(torch::tensor({measure_link(group)}, torch::kFloat64));
    for (ranks::RankView& view : views) {
      view.link_s = links[view.rank][0].item<double>();
    }
  }
  times.stragglers = ranks::render_stragglers(views);
  return times;
}

}  // namespace kedge::train
