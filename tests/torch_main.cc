// main() of the tests that use libtorch: as kedge-train begins, and then GoogleTest's own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/instruction_set.h"

int main(int argc, char** argv) {
  kedge::device::limit_instruction_set();
  testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
