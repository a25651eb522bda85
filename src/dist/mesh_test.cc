#include "dist/mesh.h"

#include <atomic>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include "dist/rank_threads.h"

namespace kedge::dist {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The ranks of the world that are in this rank's group on the axis.
std::vector<std::int64_t> members(const Mesh& mesh, Axis axis) {
  const at::Tensor all =
      mesh.axis(axis).all_gather(torch::tensor({mesh.world().rank()}, torch::kInt64)).view(-1);
  return {all.const_data_ptr<std::int64_t>(), all.const_data_ptr<std::int64_t>() + all.numel()};
}

TEST(Mesh, two_by_two_has_tensor_neighbours_beside_each_other) {
  std::atomic<int> checked = 0;
  run_ranks(4, [&](ProcessGroup& world) {
    const auto mesh = Mesh::make(world, {.data = 2, .tensor = 2});
    ASSERT_TRUE(mesh) << mesh.error().message;
    const std::int64_t rank = world.rank();
    EXPECT_EQ(mesh->coordinate(Axis::Data), rank / 2);
    EXPECT_EQ(mesh->coordinate(Axis::Tensor), rank % 2);
    if (rank < 2) {
      EXPECT_THAT(members(*mesh, Axis::Tensor), ElementsAre(0, 1));
    } else {
      EXPECT_THAT(members(*mesh, Axis::Tensor), ElementsAre(2, 3));
    }
    if (rank % 2 == 0) {
      EXPECT_THAT(members(*mesh, Axis::Data), ElementsAre(0, 2));
    } else {
      EXPECT_THAT(members(*mesh, Axis::Data), ElementsAre(1, 3));
    }
    for (const Axis axis : {Axis::Pipeline, Axis::Shard}) {
      EXPECT_TRUE(mesh->axis(axis).is_alone());
      EXPECT_EQ(mesh->coordinate(axis), 0);
    }
    ++checked;
  });
  EXPECT_EQ(checked, 4);
}

TEST(Mesh, the_order_is_pipeline_data_shard_tensor) {
  run_ranks(4, [](ProcessGroup& world) {
    const auto outer = Mesh::make(world, {.pipeline = 2, .data = 2});
    ASSERT_TRUE(outer) << outer.error().message;
    EXPECT_EQ(outer->coordinate(Axis::Pipeline), world.rank() / 2);
    EXPECT_EQ(outer->coordinate(Axis::Data), world.rank() % 2);
    // A second mesh of the same world has groups of its own.
    const auto inner = Mesh::make(world, {.data = 2, .shard = 2});
    ASSERT_TRUE(inner) << inner.error().message;
    EXPECT_EQ(inner->coordinate(Axis::Data), world.rank() / 2);
    EXPECT_EQ(inner->coordinate(Axis::Shard), world.rank() % 2);
    EXPECT_EQ(members(*outer, Axis::Data).front(), world.rank() / 2 * 2);
    EXPECT_EQ(members(*inner, Axis::Data).front(), world.rank() % 2);
  });
}

TEST(Mesh, three_axes_are_those_of_a_tensor_of_all_ranks) {
  run_ranks(8, [](ProcessGroup& world) {
    const auto mesh = Mesh::make(world, {.pipeline = 2, .shard = 2, .tensor = 2});
    ASSERT_TRUE(mesh) << mesh.error().message;
    const at::Tensor ranks = torch::arange(8).view({2, 1, 2, 2});
    for (const Axis axis : {Axis::Pipeline, Axis::Data, Axis::Shard, Axis::Tensor}) {
      at::Tensor line =
          ranks.movedim(static_cast<std::int64_t>(axis), -1).reshape({-1, mesh->size(axis)});
      line = line[(line == world.rank()).any(1).nonzero().item<std::int64_t>()];
      EXPECT_TRUE(line.equal(torch::tensor(members(*mesh, axis)))) << name_of(axis) << line;
    }
  });
}

TEST(Mesh, an_axis_of_all_ranks_is_the_world) {
  run_ranks(3, [](ProcessGroup& world) {
    const auto mesh = Mesh::make(world, {.shard = 3});
    ASSERT_TRUE(mesh) << mesh.error().message;
    EXPECT_EQ(&mesh->axis(Axis::Shard), &world);
    EXPECT_EQ(&mesh->world(), &world);
    EXPECT_EQ(mesh->coordinate(Axis::Shard), world.rank());
    EXPECT_EQ(mesh->size(Axis::Shard), 3);
    EXPECT_TRUE(mesh->axis(Axis::Data).is_alone());
  });
}

TEST(Mesh, who_is_alone_is_at_the_beginning_of_each_axis) {
  const auto world = make_single_process_group();
  const auto mesh = Mesh::make(*world, {});
  ASSERT_TRUE(mesh) << mesh.error().message;
  EXPECT_EQ(&mesh->axis(Axis::Data), world.get());
  for (const Axis axis : {Axis::Pipeline, Axis::Data, Axis::Shard, Axis::Tensor}) {
    EXPECT_EQ(mesh->size(axis), 1);
    EXPECT_EQ(mesh->coordinate(axis), 0);
  }
}

TEST(Mesh, axes_sum_over_their_own_ranks_in_any_order) {
  run_ranks(4, [](ProcessGroup& world) {
    const auto mesh = Mesh::make(world, {.data = 2, .shard = 2});
    ASSERT_TRUE(mesh) << mesh.error().message;
    const at::Tensor by_data = torch::full({1}, world.rank() + 1);
    const at::Tensor by_shard = by_data.clone();
    // Ranks of different shards begin with different axes.
    const bool is_data_first = mesh->coordinate(Axis::Shard) == mesh->coordinate(Axis::Data);
    const auto start = [&](bool is_data) {
      return mesh->axis(is_data ? Axis::Data : Axis::Shard)
          .start_all_reduce(is_data ? by_data : by_shard);
    };
    const auto one = start(is_data_first);
    const auto two = start(!is_data_first);
    one->wait();
    two->wait();
    EXPECT_EQ(by_data.item<std::int64_t>(), world.rank() % 2 == 0 ? 4 : 6);   // 1 + 3, 2 + 4
    EXPECT_EQ(by_shard.item<std::int64_t>(), world.rank() / 2 == 0 ? 3 : 7);  // 1 + 2, 3 + 4
  });
}

TEST(Mesh, a_subgroup_has_twins_subgroups_and_mail_of_its_own) {
  run_ranks(4, [](ProcessGroup& world) {
    const auto half = world.make_subgroup(world.rank() % 2 == 0 ? -5 : 7);
    EXPECT_EQ(half->size(), 2);
    EXPECT_EQ(half->rank(), world.rank() / 2);
    const auto twin = half->make_twin("second");
    const at::Tensor values = torch::full({1}, world.rank());
    twin->all_reduce_sum(values);
    EXPECT_EQ(values.item<std::int64_t>(), world.rank() % 2 == 0 ? 2 : 4);  // 0 + 2, 1 + 3
    EXPECT_TRUE(half->make_subgroup(half->rank())->is_alone());
    EXPECT_EQ(half->make_subgroup(0)->size(), 2);
    const auto mail = half->open_mailbox();
    if (half->is_first()) {
      mail->put("note", std::to_string(world.rank()));
    }
    EXPECT_EQ(mail->take("note"), std::to_string(world.rank() % 2));
    half->barrier();
  });
}

TEST(Mesh, sizes_that_do_not_make_up_the_world_are_a_usage_error) {
  run_ranks(3, [](ProcessGroup& world) {
    const auto mesh = Mesh::make(world, {.data = 2, .tensor = 3});
    ASSERT_FALSE(mesh);
    EXPECT_EQ(mesh.error().kind, ErrorKind::Usage);
    EXPECT_EQ(mesh.error().message,
              "a mesh of pipeline 1 x data 2 x shard 1 x tensor 3 has 6 ranks, but there are 3");
    EXPECT_EQ(mesh.error().hint,
              "change an axis so that all four multiplied are 3, or start 6 ranks");
    for (const std::int64_t size : {std::int64_t{0}, std::int64_t{-3}, std::int64_t{1} << 62}) {
      const auto wrong = Mesh::make(world, {.shard = size});
      ASSERT_FALSE(wrong);
      EXPECT_THAT(wrong.error().message,
                  HasSubstr("the mesh's shard axis has " + std::to_string(size) + " ranks"));
    }
  });
}

}  // namespace
}  // namespace kedge::dist
