#include "train/estimate.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "checkpoint/storage.h"
#include "core/log.h"
#include "core/stopwatch.h"
#include "device/device.h"
#include "device/plugin.h"
#include "nn/model.h"
#include "train/internal/setup.h"
#include "train/saved_model.h"
#include "train/torch_guard.h"

namespace kedge::train {
namespace {

std::uint64_t bytes_of(const nn::NamedTensors& tensors) {
  std::uint64_t bytes = 0;
  for (const auto& [name, tensor] : tensors) {
    bytes += tensor.nbytes();
  }
  return bytes;
}

struct Sizes {
  std::uint64_t parameters = 0;  // their number
  std::uint64_t element_bytes = 0;
  std::uint64_t weights = 0;
  std::uint64_t optimizer = 0;
  std::uint64_t average = 0;

  std::uint64_t all() const { return weights + optimizer + average; }
};

struct Storage {
  std::string name;
  std::string kind;  // "ext4"; empty: a speed that was given
  double bytes_per_s = 0;
};

// The nearest folder above that exists: the run folder is made only when training starts.
Path existing_part(Path path) {
  std::error_code ignored;
  path = std::filesystem::absolute(path, ignored);
  while (!std::filesystem::exists(path, ignored) && path.has_parent_path() &&
         path != path.parent_path()) {
    path = path.parent_path();
  }
  return path;
}

// Writes and syncs as a checkpoint would, for at most a few seconds, and removes it.
Result<double> measure_speed(const Path& folder) {
  constexpr std::size_t kBlock = std::size_t{4} << 20U;
  constexpr int kMostBlocks = 64;
  constexpr double kLongest_s = 3;
  std::string path = (folder / "kedge-speed-XXXXXX").string();
  const OwnedFd fd(::mkstemp(path.data()));
  if (fd.get() < 0) {
    return std::unexpected(io_error("cannot write to", folder, errno));
  }
  ::unlink(path.c_str());
  std::string block(kBlock, '\0');
  for (std::size_t i = 0; i < block.size(); ++i) {
    block[i] = static_cast<char>((i * 2654435761U) >> 24U);  // compressing disks see no zeros
  }
  const Stopwatch watch;
  int blocks = 0;
  while (blocks < kMostBlocks && watch.seconds() < kLongest_s) {
    KEDGE_TRY(write_all(fd.get(), block, path));
    ++blocks;
  }
  if (::fsync(fd.get()) != 0) {
    return std::unexpected(io_error("cannot sync", path, errno));
  }
  return static_cast<double>(kBlock) * blocks / watch.seconds();
}

Result<std::vector<Storage>> find_storage(const config::Config& config,
                                          const EstimateOptions& options) {
  std::vector<Path> folders = {existing_part(config.track.dir)};
  if (!config.checkpoint.fast_dir.empty()) {
    folders.push_back(existing_part(config.checkpoint.fast_dir));
  }
  for (const Path& folder : options.folders) {
    if (!std::filesystem::is_directory(folder)) {
      return fail(ErrorKind::Usage, fmt::format("--to: {} is not a folder", folder.string()));
    }
    folders.push_back(folder);
  }
  std::vector<Storage> all;
  for (const Path& folder : folders) {
    all.push_back({.name = folder.string(),
                   .kind = checkpoint::storage_kind(folder),
                   .bytes_per_s = KEDGE_TRY(measure_speed(folder))});
  }
  for (const Bytes speed : options.speeds) {
    all.push_back({.name = render_bytes(speed) + "/s",
                   .kind = {},
                   .bytes_per_s = static_cast<double>(speed.value)});
  }
  return all;
}

void print_json(const Sizes& sizes, const config::CheckpointConfig& config,
                const std::vector<Storage>& storage) {
  nlohmann::json tiers = nlohmann::json::array();
  for (const Storage& tier : storage) {
    tiers.push_back({{"name", tier.name},
                     {"kind", tier.kind},
                     {"bytes_per_s", tier.bytes_per_s},
                     {"seconds", static_cast<double>(sizes.all()) / tier.bytes_per_s}});
  }
  fmt::print("{}\n", nlohmann::json{{"parameters", sizes.parameters},
                                    {"bytes", sizes.all()},
                                    {"weights_bytes", sizes.weights},
                                    {"optimizer_bytes", sizes.optimizer},
                                    {"average_bytes", sizes.average},
                                    {"kept", config.keep_last + config.keep_best + 1},
                                    {"storage", std::move(tiers)}}
                         .dump(2));
}

void print_text(const Sizes& sizes, const config::Config& config,
                const std::vector<Storage>& storage) {
  const auto value_bytes = sizes.parameters * sizes.element_bytes;
  const double values = static_cast<double>(sizes.all()) /
                        static_cast<double>(std::max<std::uint64_t>(value_bytes, 1));
  const std::int64_t kept = config.checkpoint.keep_last + config.checkpoint.keep_best + 1;
  fmt::print("model      {} parameters of {} bytes\n", render_grouped(sizes.parameters),
             sizes.element_bytes);
  fmt::print("checkpoint {}: weights {}, {} state {}{}\n", render_bytes({sizes.all()}),
             render_bytes({sizes.weights}), config.optimizer.name, render_bytes({sizes.optimizer}),
             sizes.average > 0 ? fmt::format(", average {}", render_bytes({sizes.average})) : "");
  fmt::print(
      "           {:.1f} values per parameter; the rule of thumb, parameters x 5 x bytes = "
      "{}, also counts\n           gradients and a spare copy, which a save between two "
      "steps does not need\n",
      values, render_bytes({value_bytes * 5}));
  fmt::print("disk       {} for {} at a time: {} last, {} best, one being written\n",
             render_bytes({sizes.all() * static_cast<std::uint64_t>(kept)}), kept,
             config.checkpoint.keep_last, config.checkpoint.keep_best);
  for (const Storage& tier : storage) {
    const double seconds = static_cast<double>(sizes.all()) / tier.bytes_per_s;
    fmt::print("storage    {}{}: {} a save{}\n", tier.name,
               tier.kind.empty()
                   ? ""
                   : fmt::format(" ({}, measured {}/s)", tier.kind,
                                 render_bytes({static_cast<std::uint64_t>(tier.bytes_per_s)})),
               render_seconds({seconds}),
               config.checkpoint.async ? ", beside the training" : ", while training waits");
  }
}

}  // namespace

Result<void> run_estimate(const config::LoadedConfig& config, const EstimateOptions& options) {
  return catch_torch([&]() -> Result<void> {
    device::open();
    const auto setup = KEDGE_TRY(make_setup(*config, dist::make_single_process_group()));
    Sizes sizes;
    sizes.parameters = static_cast<std::uint64_t>(nn::count_parameters(*setup->model));
    sizes.weights = bytes_of(parameters_and_buffers(*setup->model));
    sizes.optimizer = bytes_of(setup->optimizer->state());
    sizes.average = config->ema.decay > 0 ? sizes.weights : 0;
    const nn::NamedTensors parameters = setup->model->parameters();
    sizes.element_bytes =
        parameters.empty() ? 4 : static_cast<std::uint64_t>(parameters[0].second.element_size());
    const auto storage = KEDGE_TRY(find_storage(*config, options));
    if (options.as_json) {
      print_json(sizes, config->checkpoint, storage);
    } else {
      print_text(sizes, *config, storage);
    }
    return {};
  });
}

}  // namespace kedge::train
