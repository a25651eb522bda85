#include "core/md5.h"

#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/hash.h"

namespace kedge {
namespace {

std::string hex(std::string_view text, std::size_t piece) {
  Md5 md5;
  for (std::size_t at = 0; at < text.size(); at += piece) {
    md5.add(as_bytes(text.substr(at, piece)));
  }
  std::string out;
  for (const std::uint8_t byte : md5.finish()) {
    out += fmt::format("{:02x}", byte);
  }
  return out;
}

// RFC 1321, A.5.
TEST(Md5, the_rfcs_test_suite) {
  EXPECT_EQ(hex("", 1), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(hex("abc", 9), "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(hex("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", 7),
            "d174ab98d277d9f5a5611c2c9f419d9f");
  EXPECT_EQ(hex("123456789012345678901234567890123456789012345678901234567890123456789012345678"
                "90",
                80),
            "57edf4a22be3c955ac49da2e2107b67a");
}

// python3: hashlib.md5(b"x" * 1000).hexdigest()
TEST(Md5, long_texts_in_any_pieces) {
  const std::string text(1000, 'x');
  for (const std::size_t piece : {1U, 63U, 64U, 65U, 1000U}) {
    EXPECT_EQ(hex(text, piece), "398533d48111e9f664b1f64cb10c4b63") << piece;
  }
}

}  // namespace
}  // namespace kedge
