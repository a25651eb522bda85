#include "jobs/local/slots.h"

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/scratch_folder.h"

namespace kedge::jobs::local {
namespace {

class SlotsTest : public testing::Test {
 protected:
  Machine machine() const { return {.cpus = 4, .gpus = {"4", "7"}, .slots = folder_ / "slots"}; }

  static std::optional<Slots> take(SlotQueue& queue, std::int64_t cpus, std::int64_t gpus) {
    auto slots = queue.take(cpus, gpus);
    EXPECT_TRUE(slots) << slots.error().message;
    return slots ? std::move(*slots) : std::nullopt;
  }

  ScratchFolder folder_;
};

TEST_F(SlotsTest, a_gpu_is_given_to_one_job_at_a_time) {
  SlotQueue first(machine());
  SlotQueue second(machine());
  SlotQueue third(machine());
  auto a = take(first, 1, 1);
  const auto b = take(second, 1, 1);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a->gpus(), std::vector<std::string>{"4"});
  EXPECT_EQ(b->gpus(), std::vector<std::string>{"7"});
  EXPECT_FALSE(take(third, 1, 1));
  a.reset();
  const auto c = take(third, 1, 1);
  ASSERT_TRUE(c);
  EXPECT_EQ(c->gpus(), std::vector<std::string>{"4"});
}

TEST_F(SlotsTest, small_jobs_do_not_pass_a_large_one_for_ever) {
  SlotQueue running(machine());
  SlotQueue large(machine());
  SlotQueue small(machine());
  auto held = take(running, 2, 0);
  ASSERT_TRUE(held);
  EXPECT_FALSE(take(large, 4, 0));  // keeps the other two, and the head of the line
  EXPECT_FALSE(take(small, 1, 0));
  held.reset();
  EXPECT_FALSE(take(small, 1, 0));
  EXPECT_TRUE(take(large, 4, 0));
}

TEST_F(SlotsTest, who_gives_up_frees_what_it_kept) {
  SlotQueue running(machine());
  SlotQueue large(machine());
  SlotQueue small(machine());
  const auto held = take(running, 2, 0);
  EXPECT_FALSE(take(large, 4, 0));
  large.give_up();
  EXPECT_TRUE(take(small, 2, 0));
}

TEST_F(SlotsTest, more_than_the_machine_has_is_all_it_has) {
  SlotQueue queue(machine());
  EXPECT_TRUE(take(queue, 99, 0));
}

}  // namespace
}  // namespace kedge::jobs::local
