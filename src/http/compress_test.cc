#include "http/internal/compress.h"

#include <string>
#include <variant>

#include <gtest/gtest.h>

#include "http/decompress.h"

namespace kedge::http {
namespace {

constexpr std::uint64_t kMegabyte = 1U << 20U;

Response long_answer() {
  std::string text = "[";
  while (text.size() < 100'000) {
    text += R"({"id":"run-1","state":"finished"},)";
  }
  return json_response(text + "0]");
}

std::string encoding_for(std::string_view accepted) {
  Response response = long_answer();
  const std::string plain = std::get<std::string>(response.body);
  compress(response, accepted);
  const std::string encoding(response.headers.find("Content-Encoding").value_or(""));
  const auto back = decompress(std::get<std::string>(response.body), encoding, kMegabyte);
  EXPECT_EQ(std::get<std::string>(back), plain) << accepted;
  EXPECT_EQ(response.headers.find("Vary"), "Accept-Encoding");
  if (!encoding.empty()) {
    EXPECT_LT(std::get<std::string>(response.body).size(), plain.size() / 10) << accepted;
  }
  return encoding;
}

// As RFC 9110, 12.5.3, has it: names between commas, q=0 means "not this one".
TEST(Compress, heeds_what_the_client_accepts) {
  EXPECT_EQ(encoding_for("gzip, deflate, br, zstd"), "zstd");
  EXPECT_EQ(encoding_for("gzip, deflate"), "gzip");
  EXPECT_EQ(encoding_for("gzip;q=0.5 , zstd;q=0"), "gzip");
  EXPECT_EQ(encoding_for("zstd; q=0.000, gzip;q=0"), "");
  EXPECT_EQ(encoding_for("deflate, x-gzipped"), "");
  EXPECT_EQ(encoding_for(""), "");
}

TEST(Compress, leaves_short_answers_refusals_and_packed_bodies_alone) {
  Response small = json_response(std::string(kMinCompressedBytes - 1, ' '));
  Response refusal = error_response(404, std::string(5000, 'x'));
  Response packed = long_answer();
  packed.headers.add("Content-Encoding", "gzip");
  for (Response* response : {&small, &refusal, &packed}) {
    const std::string before = std::get<std::string>(response->body);
    compress(*response, "gzip, zstd");
    EXPECT_EQ(std::get<std::string>(response->body), before);
  }
}

}  // namespace
}  // namespace kedge::http
