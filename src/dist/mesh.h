// A mesh gives each rank a place on named axes, so that code says which ranks it means ("those that
// hold the other shards of my weights") instead of counting. In PyTorch's words it is a DeviceMesh:
//   init_device_mesh("cuda", (p, d, s, t), mesh_dim_names=("pp", "dp_replicate", "dp_shard", "tp"))
// and axis(Axis::Shard) is mesh["dp_shard"].get_group(), coordinate(a) is get_local_rank(a).
//
//   Pipeline  the ranks hold different blocks of the model and hand activations on
//   Data      the ranks hold the same weights and all-reduce gradients once a step
//   Shard     the ranks hold different shards of the same weights: an all-gather before each block,
//             a reduce-scatter of its gradients (FSDP); they read different data too
//   Tensor    the ranks hold different columns or rows of each matrix and all-reduce inside blocks
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "core/result.h"
#include "dist/process_group.h"

namespace kedge::dist {

// Outermost (the rank number changes slowest) to innermost: neighbours in rank, who share a
// machine, are those who talk most. It is the order of torchtitan and of Megatron ("tp-dp-pp",
// reversed).
enum class Axis : std::uint8_t { Pipeline, Data, Shard, Tensor };

inline constexpr std::size_t kAxes = 4;

std::string_view name_of(Axis axis);

struct MeshSizes {
  std::int64_t pipeline = 1;
  std::int64_t data = 1;
  std::int64_t shard = 1;
  std::int64_t tensor = 1;
};

class Mesh {
 public:
  // Every rank of `world`, which must outlive the mesh, calls it with the same sizes. A usage error
  // where they do not make up the world, on all ranks alike and before any talk. Throws PeerError.
  static Result<Mesh> make(ProcessGroup& world, const MeshSizes& sizes);

  ProcessGroup& world() const { return *world_; }

  // The ranks that differ from this one only on `axis`, in order of their coordinates. One that
  // holds all ranks is world() itself, so that calls of both keep one order; any other of size 1 is
  // a group that is alone. In a world of one rank the data axis is the world.
  ProcessGroup& axis(Axis axis) const { return *axes_[static_cast<std::size_t>(axis)]; }

  std::int64_t coordinate(Axis axis) const { return this->axis(axis).rank(); }

  std::int64_t size(Axis axis) const { return this->axis(axis).size(); }

 private:
  explicit Mesh(ProcessGroup& world) : world_(&world) {}

  ProcessGroup* world_;
  std::array<std::unique_ptr<ProcessGroup>, kAxes> own_;  // null where it is world()
  std::array<ProcessGroup*, kAxes> axes_{};
};

}  // namespace kedge::dist
