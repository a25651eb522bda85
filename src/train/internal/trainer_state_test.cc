#include "train/internal/trainer_state.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace kedge::train {
namespace {

TrainerState make_state() {
  return {Best(true, 0), Best(false, 0.1)};
}

data::Batch batch_of(const std::vector<std::int64_t>& indices, std::int64_t first_position,
                     std::int64_t skipped = 0) {
  data::Batch batch;
  batch.indices = indices;
  batch.count = std::ssize(indices);
  batch.skipped = skipped;
  batch.global_count = batch.count + skipped;
  for (std::int64_t i = 0; i < batch.count; ++i) {
    batch.positions.push_back(first_position + i);
  }
  return batch;
}

TEST(TrainerState, comes_back_whole_from_json_text) {
  TrainerState state = make_state();
  state.see(batch_of({3, 1, 4}, 0, 1));
  state.step = 1;
  state.epoch_seconds = 0.1;
  state.end_epoch();
  state.add_to_history({{"val/accuracy", 0.1 + 0.2}, {"val/loss", std::nan("")}});
  state.see(batch_of({1, 5, 9, 2}, 0));
  state.best.observe(0.7);
  state.early_stop.observe(std::numeric_limits<double>::infinity());
  state.early_stop.observe(std::numeric_limits<double>::infinity());
  state.schedule = {0.25, std::numeric_limits<double>::infinity(), 3};

  TrainerState restored = make_state();
  ASSERT_TRUE(restored.restore(nlohmann::json::parse(state.to_json().dump())));
  EXPECT_EQ(restored.to_json(), state.to_json());
  EXPECT_EQ(restored.epoch, 1);
  EXPECT_EQ(restored.batch, 1);
  EXPECT_EQ(restored.samples, 7);
  EXPECT_EQ(restored.skipped, 1);
  EXPECT_EQ(restored.best.value(), 0.7);
  EXPECT_EQ(restored.early_stop.since(), 1);
  EXPECT_EQ(restored.schedule, state.schedule);
  EXPECT_EQ(restored.history[0]["metrics"]["val/accuracy"].get<double>(), 0.1 + 0.2);
}

TEST(TrainerState, its_hash_tells_samples_at_other_places_apart) {
  const auto hash_of = [](const std::vector<std::vector<std::int64_t>>& batches) {
    TrainerState state = make_state();
    std::int64_t position = 0;
    for (const auto& batch : batches) {
      state.see(batch_of(batch, position));
      position += std::ssize(batch);
    }
    return state.samples_hash;
  };
  EXPECT_EQ(hash_of({{1, 2}, {3}}), hash_of({{1, 2}, {3}}));
  EXPECT_EQ(hash_of({{1, 2}, {3}}), hash_of({{1}, {2, 3}}));
  EXPECT_NE(hash_of({{1, 2}, {3}}), hash_of({{2, 1}, {3}}));
  EXPECT_NE(hash_of({{1, 2}, {3}}), hash_of({{3}, {1, 2}}));
  EXPECT_NE(hash_of({{1, 2}, {3}}), hash_of({{1, 2}}));
}

TEST(TrainerState, the_hashes_of_two_ranks_add_up_to_that_of_one_process) {
  TrainerState one = make_state();
  one.see(batch_of({7, 5, 6}, 10));
  TrainerState first = make_state();
  first.see(batch_of({7}, 10));
  TrainerState second = make_state();
  second.see(batch_of({5, 6}, 11));
  EXPECT_EQ(first.samples_hash + second.samples_hash, one.samples_hash);
}

TEST(TrainerState, a_state_with_a_piece_missing_is_corrupt) {
  const nlohmann::json whole = make_state().to_json();
  for (const auto& [key, value] : whole.items()) {
    nlohmann::json less = whole;
    less.erase(key);
    TrainerState state = make_state();
    const auto restored = state.restore(less);
    ASSERT_FALSE(restored) << key;
    EXPECT_EQ(restored.error().kind, ErrorKind::Corrupt);
  }
}

}  // namespace
}  // namespace kedge::train
