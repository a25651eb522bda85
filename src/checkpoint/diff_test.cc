#include "checkpoint/diff.h"

#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "checkpoint/checkpoint.h"
#include "checkpoint/tensor_file.h"
#include "core/file.h"
#include "core/scratch_folder.h"

namespace kedge::checkpoint {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

template <typename T>
std::span<const std::uint8_t> bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const std::uint8_t*>(values.data()), values.size() * sizeof(T)};
}

class DiffTest : public testing::Test {
 protected:
  Checkpoint save(const std::string& name, const std::vector<Part>& parts,
                  const nlohmann::json& state) {
    EXPECT_TRUE(write_checkpoint(folder_ / name, parts, state));
    return *Checkpoint::open(folder_ / name);
  }

  static std::vector<std::string> render_all(const Checkpoint& a, const Checkpoint& b,
                                             const CompareOptions& options = {}) {
    std::vector<std::string> lines;
    for (const Difference& difference : compare(a, b, options)) {
      lines.push_back(render(difference));
    }
    return lines;
  }

  ScratchFolder folder_;
  std::vector<float> one_{0, 1, 2, 3, 4, NAN};
  std::vector<float> two_{0, 1, 2.5, 3, 4.125, NAN};
};

TEST_F(DiffTest, equal_checkpoints_have_no_differences) {
  const std::vector<Part> parts = {{"model", {{"w", DType::F32, {2, 3}, bytes_of(one_)}}}};
  const auto a = save("a", parts, {{"step", 1}});
  const auto b = save("b", parts, {{"step", 1}});
  EXPECT_THAT(compare(a, b, {}), IsEmpty());
}

TEST_F(DiffTest, state_values_are_named_by_their_path) {
  const auto a = save("a", {},
                      {{"best", {{"value", 0.5}, {"epoch", 1}}},
                       {"history", {{{"loss", 1}}, {{"loss", 2}}}},
                       {"only_a", true},
                       {"rng", "text"},
                       {"config", "x"}});
  const auto b = save("b", {},
                      {{"best", {{"value", 0.25}, {"epoch", 1}}},
                       {"history", {{{"loss", 1}}, {{"loss", 3}}, {{"loss", 4}}}},
                       {"only_b", {1}},
                       {"rng", 7},
                       {"config", "y"}});
  EXPECT_THAT(render_all(a, b, {.ignored = {"config"}}),
              ElementsAre("state.best.value is 0.5 and 0.25", "state.history[1].loss is 2 and 3",
                          "state.history is 2 items and 3 items",
                          "state.only_a is only in the first checkpoint (true)",
                          "state.rng is \"text\" and 7",
                          "state.only_b is only in the second checkpoint ([1])"));
  EXPECT_THAT(
      render_all(a, b, {.ignored = {"config", "best", "history", "only_a", "only_b", "rng"}}),
      IsEmpty());
}

TEST_F(DiffTest, tensors_are_compared_bit_for_bit_in_the_order_asked_for) {
  const std::vector<std::int64_t> ints = {1, 2};
  const auto a = save("a",
                      {{"model",
                        {{"w", DType::F32, {2, 3}, bytes_of(one_)},
                         {"gone", DType::F32, {6}, bytes_of(one_)},
                         {"shape", DType::F32, {6}, bytes_of(one_)},
                         {"type", DType::I64, {2}, bytes_of(ints)}}},
                       {"optimizer", {{"m", DType::F32, {6}, bytes_of(one_)}}},
                       {"ema", {}}},
                      {{"step", 1}});
  const auto b = save("b",
                      {{"model",
                        {{"w", DType::F32, {2, 3}, bytes_of(two_)},
                         {"shape", DType::F32, {3, 2}, bytes_of(one_)},
                         {"type", DType::F64, {2}, bytes_of(ints)}}},
                       {"optimizer", {{"m", DType::F32, {6}, bytes_of(two_)}}}},
                      {{"step", 2}});
  EXPECT_THAT(
      render_all(a, b, {.order = {"optimizer", "state"}}),
      ElementsAre("optimizer: tensor 'm' differs in 2 of 6 elements, first at [2]: 2 and 2.5; by "
                  "0.5 at most",
                  "state.step is 1 and 2", "model: tensor 'type' is I64 and F64",
                  "model: tensor 'gone' is only in the first checkpoint ([6])",
                  "model: tensor 'shape' is [6] and [3, 2]",
                  "model: tensor 'w' differs in 2 of 6 elements, first at [0, 2]: 2 and 2.5; by "
                  "0.5 at most",
                  "ema is only in the first checkpoint (0 tensors)"));
}

// IEEE 754 bit patterns written by hand.
TEST_F(DiffTest, small_floats_are_shown_as_numbers) {
  const std::vector<std::uint16_t> half_a = {0x3C00, 0x0001, 0x7C00};  // 1, 2^-24, inf
  const std::vector<std::uint16_t> half_b = {0xC000, 0x0001, 0x7C00};  // -2
  const std::vector<std::uint16_t> brain_a = {0x3F80};                 // 1
  const std::vector<std::uint16_t> brain_b = {0x7FC0};                 // NaN
  const auto a = save(
      "a",
      {{"model",
        {{"h", DType::F16, {3}, bytes_of(half_a)}, {"b", DType::BF16, {}, bytes_of(brain_a)}}}},
      nullptr);
  const auto b = save(
      "b",
      {{"model",
        {{"h", DType::F16, {3}, bytes_of(half_b)}, {"b", DType::BF16, {}, bytes_of(brain_b)}}}},
      nullptr);
  EXPECT_THAT(
      render_all(a, b),
      ElementsAre("model: tensor 'b' differs in 1 of 1 elements, first at []: 1 and nan; by "
                  "nan at most",
                  "model: tensor 'h' differs in 1 of 3 elements, first at [0]: 1 and -2; by "
                  "3 at most"));
}

}  // namespace
}  // namespace kedge::checkpoint
