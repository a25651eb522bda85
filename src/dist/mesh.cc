#include "dist/mesh.h"

#include <fmt/format.h>

namespace kedge::dist {
namespace {

using Sizes = std::array<std::int64_t, kAxes>;  // by Axis

Result<void> check_sizes(const Sizes& sizes, std::int64_t ranks) {
  std::string factors;
  std::int64_t product = 1;
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    const std::string_view name = name_of(static_cast<Axis>(axis));
    if (sizes[axis] < 1 || sizes[axis] > ranks) {
      return fail(ErrorKind::Usage,
                  fmt::format("the mesh's {} axis has {} ranks, but there are {}", name,
                              sizes[axis], ranks),
                  fmt::format("an axis has at least 1 rank; all four multiplied are {}", ranks));
    }
    factors += fmt::format("{}{} {}", axis == 0 ? "" : " x ", name, sizes[axis]);
    product *= sizes[axis];
  }
  if (product != ranks) {
    return fail(ErrorKind::Usage,
                fmt::format("a mesh of {} has {} ranks, but there are {}", factors, product, ranks),
                fmt::format("change an axis so that all four multiplied are {}, or start {} ranks",
                            ranks, product));
  }
  return {};
}

}  // namespace

std::string_view name_of(Axis axis) {
  constexpr std::array<std::string_view, kAxes> kNames = {"pipeline", "data", "shard", "tensor"};
  return kNames[static_cast<std::size_t>(axis)];
}

Result<Mesh> Mesh::make(ProcessGroup& world, const MeshSizes& named) {
  const Sizes sizes = {named.pipeline, named.data, named.shard, named.tensor};
  KEDGE_TRY(check_sizes(sizes, world.size()));
  Mesh mesh(world);
  std::int64_t stride = world.size();  // between neighbours on the axis
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    stride /= sizes[axis];
    const bool is_data = static_cast<Axis>(axis) == Axis::Data;
    if (sizes[axis] == world.size() && (world.size() > 1 || is_data)) {
      mesh.axes_[axis] = &world;
      continue;
    }
    // Ranks of one group have all other coordinates in common: this rank's with 0 on this axis.
    const std::int64_t coordinate = world.rank() / stride % sizes[axis];
    mesh.own_[axis] = sizes[axis] == 1 ? make_single_process_group()
                                       : world.make_subgroup(world.rank() - coordinate * stride);
    mesh.axes_[axis] = mesh.own_[axis].get();
  }
  return mesh;
}

}  // namespace kedge::dist
