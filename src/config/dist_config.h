// The dist section: many processes that train one model together.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "config/section.h"

namespace kedge::config {

enum class BatchMeaning : std::uint8_t { Global, PerRank };

constexpr std::array<std::string_view, 2> enum_names(BatchMeaning) {
  return {"global", "per_rank"};
}

enum class RateScale : std::uint8_t { None, Linear, Sqrt };

constexpr std::array<std::string_view, 3> enum_names(RateScale) {
  return {"none", "linear", "sqrt"};
}

enum class Compression : std::uint8_t { None, Bf16 };

constexpr std::array<std::string_view, 2> enum_names(Compression) {
  return {"none", "bf16"};
}

enum class BufferSync : std::uint8_t { Epoch, Step };

constexpr std::array<std::string_view, 2> enum_names(BufferSync) {
  return {"epoch", "step"};
}

// What the ranks' tensors travel over.
enum class Backend : std::uint8_t { Auto, Gloo, Nccl };

constexpr std::array<std::string_view, 3> enum_names(Backend) {
  return {"auto", "gloo", "nccl"};
}

struct DistConfig {
  std::int64_t ranks = 1;
  std::int64_t nodes = 1;
  std::int64_t min_nodes = 0;
  std::string endpoint = "";
  std::string interface = "";
  Backend backend = Backend::Auto;
  BatchMeaning batch = BatchMeaning::Global;
  RateScale lr_scale = RateScale::None;
  std::int64_t lr_warmup = 0;
  Bytes bucket = {25'000'000};
  Compression compression = Compression::None;
  bool sync_batchnorm = false;
  BufferSync buffers = BufferSync::Epoch;
  Seconds init_timeout = {120};
  Seconds timeout = {300};
  Seconds stall = {20};
  std::int64_t restarts = 3;
  std::string replicas = "never";
  bool debug = false;

  void describe(Section& s) {
    s.every_field(InHash::Never);  // but what changes the numbers that come out
    s.field("ranks", ranks, "processes that train together on each machine", at_least(1));
    s.field("nodes", nodes, "machines that take part, at most; each runs the same command",
            at_least(1));
    s.field("min_nodes", min_nodes,
            "machines to go on with when others are lost; 0: as many as dist.nodes", at_least(0));
    s.field("endpoint", endpoint,
            "host:port of the first machine, where the others meet; empty: from Slurm, or "
            "MASTER_ADDR and MASTER_PORT");
    s.field("interface", interface,
            "the network interface to talk over, e.g. ib0; empty: the fastest in whose network all "
            "ranks are");
    s.field("backend", backend,
            "what tensors travel over: nccl between GPUs, gloo through the host's memory; auto is "
            "nccl where every rank has a GPU of its own");
    s.field("batch", batch,
            "whether loader.batch_size is the batch of all ranks together (the result does not "
            "depend on their number) or of each",
            InHash::Always);
    s.field("lr_scale", lr_scale,
            "multiply optimizer.lr by the number of ranks (linear), its root, or not",
            InHash::Always);
    s.field("lr_warmup", lr_warmup,
            "with lr_scale: units of schedule.unit to rise from optimizer.lr to the scaled rate",
            at_least(0), InHash::Always);
    s.field("bucket", bucket, "gradients are summed over the ranks in pieces of this size");
    s.field("compression", compression,
            "the type in which gradients travel: none is their own, bf16 halves the traffic",
            InHash::Always);
    s.field("sync_batchnorm", sync_batchnorm,
            "BatchNorm over the batch of all ranks, not of each alone", InHash::Always);
    s.field("buffers", buffers,
            "when the ranks take over rank 0's buffers: before each validation and save (epoch), "
            "or before each step");
    s.field("init_timeout", init_timeout, "how long to wait at the start until all ranks are there",
            above(0));
    s.field("timeout", timeout, "how long one collective (all-reduce, broadcast, ...) may take",
            above(0));
    s.field("stall", stall, "report which rank hangs after so long without a step", above(0));
    s.field("restarts", restarts,
            "how often failed ranks are started again without getting further", at_least(0));
    s.field(
        "replicas", replicas,
        "how often each machine keeps the training's state in its memory (/dev/shm), from where "
        "lost ranks go on: never, auto (as often as it costs little), 10 steps, 30s");
    s.field("debug", debug,
            "let c10d and NCCL print what they do, as TORCH_CPP_LOG_LEVEL and NCCL_DEBUG=INFO ask");
  }
};

}  // namespace kedge::config
