#include "core/hash.h"

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/file_digest.h"

namespace kedge {
namespace {

std::string counting_bytes(std::size_t count) {
  std::string bytes;
  for (std::size_t i = 0; i < count; ++i) {
    bytes += static_cast<char>(i % 256);
  }
  return bytes;
}

// RFC 3720, B.4, and the usual check value of the CRC catalogue.
TEST(Crc32c, gives_the_published_values) {
  EXPECT_EQ(crc32c(as_bytes("123456789")), 0xE3069283U);
  EXPECT_EQ(crc32c(as_bytes(std::string(32, '\0'))), 0x8A9136AAU);
  EXPECT_EQ(crc32c(as_bytes(std::string(32, '\xFF'))), 0x62A8AB43U);
  EXPECT_EQ(crc32c(as_bytes(counting_bytes(32))), 0x46DD794EU);
}

TEST(Crc32c, continues_over_parts) {
  const std::string whole = counting_bytes(1000);
  for (std::size_t cut = 0; cut <= whole.size(); cut += 13) {
    const std::uint32_t first = crc32c(as_bytes(whole.substr(0, cut)));
    EXPECT_EQ(crc32c(as_bytes(whole.substr(cut)), first), crc32c(as_bytes(whole)));
  }
}

// FIPS 180-4 examples.
TEST(Sha256, gives_the_published_values) {
  EXPECT_EQ(sha256_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_of(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, does_not_depend_on_how_the_bytes_are_cut) {
  const std::string whole = counting_bytes(300);
  for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
    Sha256 hash;
    hash.add(as_bytes(whole.substr(0, cut)));
    hash.add(as_bytes(whole.substr(cut)));
    EXPECT_EQ(hash.finish_hex(), sha256_of(whole)) << cut;
  }
}

// Values of Python's xxhash package.
TEST(Xxh3, agrees_with_python) {
  EXPECT_EQ(xxh3_64(as_bytes("")), 0x2d06800538d394c2U);
  EXPECT_EQ(xxh3_64(as_bytes("a")), 0xe6c632b61e964e1fU);
  EXPECT_EQ(xxh3_64(as_bytes("kedge")), 0xaec731b5e31cfa10U);
  EXPECT_EQ(xxh3_64(as_bytes(counting_bytes(1280))), 0x4844b009e164352eU);
}

TEST(Digest, agrees_with_python_whatever_the_parts) {
  Digest digest;
  EXPECT_EQ(digest.text(), "xxh3:99aa06d3014798d86001c324468d497f");
  digest.add("ked");
  digest.add("ge");
  EXPECT_EQ(digest.text(), "xxh3:a193eaf69ae56d80fb7f5e6bb5cd3018");
  Digest large;
  large.add(as_bytes(counting_bytes(1280)));
  EXPECT_EQ(large.text(), "xxh3:d92ab3a1cb0542a74844b009e164352e");
}

}  // namespace
}  // namespace kedge
