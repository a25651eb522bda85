#include "track/log_chain.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace kedge::track {
namespace {

// Length and checksum are not part of the chain.
std::string frame(std::string_view payload) {
  return "headhead" + std::string(payload);
}

// The values are those of libxxhash 0.8.1, called from Python:
// chain = XXH3_64bits(struct.pack("<Q", chain) + payload).
TEST(LogChainTest, the_chain_is_as_documented) {
  LogPosition position;
  EXPECT_EQ(position.digest(), "0000000000000000");
  position.pass(frame("one"));
  EXPECT_EQ(position.digest(), "bb083fe9e39b96b0");
  position.pass(frame("two"));
  EXPECT_EQ(position.digest(), "0f634bae173aff88");
  position.pass(frame(std::string_view("\0\0\0\0\0", 5)));
  EXPECT_EQ(position.digest(), "8aa6736ffa96d178");
  EXPECT_EQ(position.next_seq, 3U);
  EXPECT_EQ(position.offset, 11U + 11U + 13U);
}

TEST(LogChainTest, the_order_of_records_counts) {
  LogPosition forward;
  forward.pass(frame("one"));
  forward.pass(frame("two"));
  LogPosition backward;
  backward.pass(frame("two"));
  backward.pass(frame("one"));
  EXPECT_NE(forward.digest(), backward.digest());
}

}  // namespace
}  // namespace kedge::track
