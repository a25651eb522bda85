#include "device/instruction_set.h"

#include <csignal>
#include <cstdlib>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "core/scratch_folder.h"

namespace kedge::device {
namespace {

std::string_view limit_now() {
  const char* const limit = std::getenv("ONEDNN_MAX_CPU_ISA");
  return limit == nullptr ? "" : limit;
}

// What oneDNN does on a processor whose AMX does not work.
void die_with_amx() {
  if (limit_now().empty()) {
    std::raise(SIGILL);
  }
}

void die_with_avx512() {
  if (limit_now() != "AVX2") {
    std::raise(SIGILL);
  }
}

class InstructionSet : public testing::Test {
 protected:
  void SetUp() override { ::unsetenv("ONEDNN_MAX_CPU_ISA"); }

  ScratchFolder folder_;
};

TEST_F(InstructionSet, has_no_limit_where_the_product_survives) {
  EXPECT_EQ(find_instruction_limit([] {}), "");
}

TEST_F(InstructionSet, is_the_newest_that_survives) {
  EXPECT_EQ(find_instruction_limit(die_with_amx), "AVX512_CORE_FP16");
  EXPECT_EQ(find_instruction_limit(die_with_avx512), "AVX2");
}

TEST_F(InstructionSet, has_no_limit_where_none_helps) {
  EXPECT_EQ(find_instruction_limit([] { std::abort(); }), "");
}

TEST_F(InstructionSet, is_tried_once_a_boot) {
  const Path memory = folder_.path() / "cpu" / "host";
  EXPECT_EQ(remembered_instruction_limit(memory, die_with_amx), "AVX512_CORE_FP16");
  EXPECT_EQ(remembered_instruction_limit(memory, [] {}), "AVX512_CORE_FP16");
}

TEST_F(InstructionSet, is_tried_again_after_another_boot) {
  const Path memory = folder_.path() / "host";
  ASSERT_TRUE(write_file_atomic(memory, "torch 2.0.0 boot 00000000\nAVX2\n"));
  EXPECT_EQ(remembered_instruction_limit(memory, die_with_amx), "AVX512_CORE_FP16");
}

TEST_F(InstructionSet, needs_no_memory) {
  EXPECT_EQ(remembered_instruction_limit("/proc/nowhere/host", die_with_amx), "AVX512_CORE_FP16");
}

TEST_F(InstructionSet, stays_as_the_user_set_it) {
  ::setenv("ONEDNN_MAX_CPU_ISA", "AVX2", 1);
  EXPECT_EQ(limit_instruction_set(), "");
  EXPECT_EQ(limit_now(), "AVX2");
}

}  // namespace
}  // namespace kedge::device
