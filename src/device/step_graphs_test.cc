#include "device/step_graphs.h"

#include <stdexcept>
#include <utility>

#include <gtest/gtest.h>
#include <torch/types.h>

namespace kedge::device {
namespace {

// Records by remembering the work and doing it at each replay, as a device does with its kernels.
class RememberingPlugin : public device::Plugin {
 public:
  void leave_default_stream() override {}

  std::unique_ptr<device::Graph> capture(const std::function<void()>& work) override {
    class Remembered : public device::Graph {
     public:
      explicit Remembered(int* replays) : replays_(replays) {}

      void replay() override { ++*replays_; }

     private:
      int* replays_;
    };

    ++captured;
    work();
    return std::make_unique<Remembered>(&replays);
  }

  std::string target() const override { return "test"; }

  Result<std::string> compile(const std::string&, const std::string&) override { return ""; }

  Result<std::unique_ptr<device::Kernel>> load(const std::string&, const std::string&) override {
    return fail(ErrorKind::Unavailable, "no kernels here");
  }

  int captured = 0;
  int replays = 0;
};

TEST(StepGraphs, captures_a_step_that_was_seen_three_times_and_replays_it) {
  RememberingPlugin plugin;
  StepGraphs graphs(&plugin);
  int done = 0;
  const auto work = [&] { return torch::full({}, ++done); };
  for (int i = 0; i < 10; ++i) {
    graphs.run({.count = 8}, work, [] {});
  }
  EXPECT_EQ(done, 4) << "three as they come, one while it is captured";
  EXPECT_EQ(plugin.captured, 1);
  EXPECT_EQ(plugin.replays, 7);
}

TEST(StepGraphs, steps_of_other_shapes_are_captured_for_themselves) {
  RememberingPlugin plugin;
  StepGraphs graphs(&plugin);
  const auto work = [] { return torch::zeros({}); };
  for (int i = 0; i < 5; ++i) {
    graphs.run({.count = 8}, work, [] {});
    graphs.run({.count = 3}, work, [] {});
    graphs.run({.count = 8, .is_last_micro_batch = false}, work, [] {});
  }
  EXPECT_EQ(plugin.captured, 3);
}

TEST(StepGraphs, a_step_that_cannot_be_captured_is_done_and_nothing_is_captured_after_it) {
  RememberingPlugin plugin;
  StepGraphs graphs(&plugin);
  int done = 0;
  int undone = 0;
  for (int i = 0; i < 6; ++i) {
    const at::Tensor result = graphs.run(
        {.count = 8},
        [&] {
          if (plugin.captured == 1 && undone == 0) {
            throw std::runtime_error("operation not permitted when stream is capturing\nmore");
          }
          return torch::full({}, ++done);
        },
        [&] { ++undone; });
    EXPECT_EQ(result.item<int>(), i + 1) << "each step once";
  }
  EXPECT_EQ(undone, 1);
  EXPECT_FALSE(graphs.is_on());
}

TEST(StepGraphs, without_a_plugin_steps_are_done_as_they_come) {
  StepGraphs graphs(nullptr);
  int done = 0;
  for (int i = 0; i < 6; ++i) {
    graphs.run({.count = 8}, [&] { return torch::full({}, ++done); }, [] {});
  }
  EXPECT_EQ(done, 6);
}

}  // namespace
}  // namespace kedge::device
