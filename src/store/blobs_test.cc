#include "store/blobs.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/random.h"
#include "core/scratch_folder.h"
#include "store/internal/s3_server.h"

namespace kedge::store {
namespace {

using testing::HasSubstr;

// FIPS 180-4's own example.
constexpr const char* kAbc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr const char* kNothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

S3Server* server() {
  static const std::unique_ptr<S3Server> started = S3Server::start();
  return started.get();
}

// What holds for blobs wherever they lie.
class AnyBlobs : public testing::TestWithParam<const char*> {
 public:
  void SetUp() override {
    const bool is_s3 = GetParam() == std::string("s3");
    if (is_s3 && server() == nullptr) {
      GTEST_SKIP() << "no versitygw in PATH, and KEDGE_S3_SERVER names none";
    }
    constexpr std::uint64_t kPart = 5ULL << 20U;  // the least S3 takes
    const std::string address = is_s3 ? server()->address() : (folder_ / "blobs").string();
    auto opened = BlobStore::open(address, {.spool = folder_ / "spool", .part_bytes = kPart});
    ASSERT_TRUE(opened) << opened.error().message;
    blobs_ = *std::move(opened);
    empty();
  }

  void empty() {
    std::vector<std::string> all;
    ASSERT_TRUE(blobs_->list([&](const StoredBlob& blob) { all.push_back(blob.digest); }));
    for (const std::string& digest : all) {
      ASSERT_TRUE(blobs_->remove(digest));
    }
  }

 protected:
  ScratchFolder folder_;
  std::unique_ptr<BlobStore> blobs_;
};

INSTANTIATE_TEST_SUITE_P(places, AnyBlobs, testing::Values("files", "s3"));

TEST_P(AnyBlobs, a_blob_is_named_by_its_sha256) {
  const auto blob = blobs_->put("abc");
  ASSERT_TRUE(blob) << blob.error().message;
  EXPECT_EQ(blob->digest, kAbc);
  EXPECT_EQ(blob->size, 3U);
  EXPECT_EQ(blobs_->read_all(kAbc).value(), "abc");
  EXPECT_EQ(blobs_->find_size(kAbc).value(), 3U);
  EXPECT_TRUE(blobs_->verify(kAbc));
  EXPECT_EQ(blobs_->put("abc", kAbc).value().digest, kAbc);
}

TEST_P(AnyBlobs, nothing_is_a_blob_too) {
  EXPECT_EQ(blobs_->put("").value().digest, kNothing);
  EXPECT_EQ(blobs_->read_all(kNothing).value(), "");
  EXPECT_EQ(blobs_->find_size(kNothing).value(), 0U);
}

TEST_P(AnyBlobs, bytes_that_are_not_what_was_promised_are_not_stored) {
  const auto blob = blobs_->put("abd", kAbc);
  ASSERT_FALSE(blob);
  EXPECT_EQ(blob.error().kind, ErrorKind::Corrupt);
  EXPECT_THAT(blob.error().message, HasSubstr(kAbc));
  EXPECT_EQ(blobs_->usage().value().count, 0U);
}

TEST_P(AnyBlobs, parts_can_be_read) {
  const std::string digest = blobs_->put("0123456789").value().digest;
  EXPECT_EQ(blobs_->read_all(digest, {.offset = 3, .size = 4}).value(), "3456");
  EXPECT_EQ(blobs_->read_all(digest, {.offset = 7}).value(), "789");
  EXPECT_EQ(blobs_->read_all(digest, {.offset = 7, .size = 100}).value(), "789");
  EXPECT_EQ(blobs_->read_all(digest, {.offset = 10}).value(), "");
  EXPECT_EQ(blobs_->read_all(digest, {.offset = 2, .size = 0}).value(), "");
  EXPECT_EQ(blobs_->read_all(digest, {.offset = 11}).error().kind, ErrorKind::Usage);
}

TEST_P(AnyBlobs, what_is_not_there_is_not_found) {
  EXPECT_EQ(blobs_->read_all(kAbc).error().kind, ErrorKind::NotFound);
  EXPECT_EQ(blobs_->read_all("../../etc/passwd").error().kind, ErrorKind::NotFound);
  EXPECT_EQ(blobs_->find_size(kAbc).value(), std::nullopt);
  EXPECT_EQ(blobs_->find_size("").value(), std::nullopt);
  EXPECT_FALSE(blobs_->remove(kAbc).value());
  EXPECT_FALSE(blobs_->remove("..").value());
}

TEST_P(AnyBlobs, a_removed_blob_is_gone) {
  ASSERT_TRUE(blobs_->put("abc"));
  EXPECT_TRUE(blobs_->remove(kAbc).value());
  EXPECT_EQ(blobs_->find_size(kAbc).value(), std::nullopt);
}

TEST_P(AnyBlobs, the_list_has_every_blob_once) {
  std::vector<std::string> expected;
  for (int i = 0; i < 30; ++i) {
    expected.push_back(blobs_->put("blob " + std::to_string(i)).value().digest);
  }
  std::vector<std::string> found;
  ASSERT_TRUE(blobs_->list([&](const StoredBlob& blob) { found.push_back(blob.digest); }));
  EXPECT_THAT(found, testing::UnorderedElementsAreArray(expected));
  const auto usage = blobs_->usage();
  ASSERT_TRUE(usage);
  EXPECT_EQ(usage->count, 30U);
  EXPECT_EQ(usage->bytes, 10 * 6U + 20 * 7U);
}

TEST_P(AnyBlobs, large_ones_go_in_pieces_and_come_back_whole) {
  std::string large(12'345'678, '\0');  // three parts
  Random random(5);
  for (char& byte : large) {
    byte = static_cast<char>(random.next());
  }
  const auto writer = blobs_->begin();
  ASSERT_TRUE(writer);
  for (std::size_t at = 0; at < large.size(); at += 100'000) {
    ASSERT_TRUE((*writer)->add(std::string_view(large).substr(at, 100'000)));
  }
  const auto blob = (*writer)->commit();
  ASSERT_TRUE(blob) << blob.error().message;
  EXPECT_EQ(blob->size, large.size());
  EXPECT_TRUE(blobs_->read_all(blob->digest).value() == large);
  EXPECT_TRUE(blobs_->read_all(blob->digest, {.offset = 5'242'870, .size = 20}).value() ==
              large.substr(5'242'870, 20));
  EXPECT_TRUE(blobs_->verify(blob->digest));
}

TEST_P(AnyBlobs, a_writer_that_is_dropped_leaves_nothing) {
  {
    const auto writer = blobs_->begin();
    ASSERT_TRUE(writer);
    ASSERT_TRUE((*writer)->add("half"));
  }
  EXPECT_EQ(blobs_->usage().value().count, 0U);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path())) {
    EXPECT_FALSE(entry.is_regular_file()) << entry.path();
  }
}

TEST_P(AnyBlobs, a_file_becomes_a_blob) {
  ASSERT_TRUE(write_file_atomic(folder_ / "abc.txt", "abc"));
  EXPECT_EQ(blobs_->put_file(folder_ / "abc.txt").value().digest, kAbc);
  EXPECT_EQ(blobs_->put_file(folder_ / "none").error().kind, ErrorKind::NotFound);
}

TEST_P(AnyBlobs, a_sink_that_fails_ends_the_reading) {
  ASSERT_TRUE(blobs_->put("abc"));
  const auto read = blobs_->read(kAbc, {}, [](std::string_view) -> Result<void> {
    return fail(ErrorKind::Io, "the reader is gone");
  });
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message, "the reader is gone");
}

TEST(file_blobs, they_lie_where_their_names_say) {
  const ScratchFolder folder;
  const auto blobs = *BlobStore::open(folder.path());
  ASSERT_TRUE(blobs->put("abc"));
  const Path path = folder / "ba" / (kAbc + 2);
  EXPECT_EQ(read_file(path).value(), "abc");
  EXPECT_EQ(blobs->find_path(kAbc), path);
  EXPECT_EQ(blobs->find_path("../ba"), std::nullopt);
}

TEST(file_blobs, damage_is_found_and_repaired_by_the_next_put) {
  const ScratchFolder folder;
  const auto blobs = *BlobStore::open(folder.path());
  ASSERT_TRUE(blobs->put("abc"));
  ASSERT_TRUE(write_file_atomic(folder / "ba" / (kAbc + 2), "ab"));
  const auto verified = blobs->verify(kAbc);
  ASSERT_FALSE(verified);
  EXPECT_EQ(verified.error().kind, ErrorKind::Corrupt);
  ASSERT_TRUE(blobs->put("abc"));
  EXPECT_TRUE(blobs->verify(kAbc));
}

TEST(s3_blobs, wrong_keys_and_buckets_are_told) {
  if (server() == nullptr) {
    GTEST_SKIP() << "no versitygw in PATH, and KEDGE_S3_SERVER names none";
  }
  const auto blobs = *BlobStore::open("s3://nowhere?endpoint=" + server()->endpoint());
  const auto put = blobs->put("abc");
  ASSERT_FALSE(put);
  EXPECT_THAT(put.error().message, HasSubstr("NoSuchBucket"));
  ::setenv("AWS_SECRET_ACCESS_KEY", "another", 1);
  const auto denied = (*BlobStore::open(server()->address()))->usage();
  ::setenv("AWS_SECRET_ACCESS_KEY", "testsecret", 1);
  ASSERT_FALSE(denied);
  EXPECT_THAT(denied.error().message, HasSubstr("SignatureDoesNotMatch"));
}

TEST(s3_blobs, a_server_that_is_not_there_is_unavailable) {
  ::setenv("AWS_ACCESS_KEY_ID", "testkey", 1);
  ::setenv("AWS_SECRET_ACCESS_KEY", "testsecret", 1);
  const auto blobs = *BlobStore::open("s3://bucket?endpoint=http://127.0.0.1:9", {.attempts = 2});
  EXPECT_EQ(blobs->put("abc").error().kind, ErrorKind::Unavailable);
}

TEST(s3_address, its_parts_are_read) {
  const auto place =
      parse_s3_address("s3://b/a/c?endpoint=https%3A%2F%2Fhost%3A1%2F&region=eu-north-1");
  ASSERT_TRUE(place);
  EXPECT_EQ(place->bucket, "b");
  EXPECT_EQ(place->prefix, "a/c/");
  EXPECT_EQ(place->endpoint, "https://host:1");
  EXPECT_EQ(place->region, "eu-north-1");
  EXPECT_EQ(parse_s3_address("s3://").error().message, "'s3://': no bucket is named");
  EXPECT_EQ(parse_s3_address("s3://b?x=1").error().message, "'s3://b?x=1': unknown option 'x'");
}

TEST(s3_xml, texts_are_found_and_their_entities_replaced) {
  EXPECT_THAT(xml_texts("<a><Key>x&amp;y</Key><b/><Key>&quot;z&quot;</Key><Key>cut", "Key"),
              testing::ElementsAre("x&y", "\"z\""));
}

}  // namespace
}  // namespace kedge::store
