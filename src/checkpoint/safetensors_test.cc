#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ios>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/tensor_file.h"
#include "core/file.h"
#include "core/hash.h"
#include "core/result.h"
#include "core/scratch_folder.h"
#include "core/small_disk.h"

namespace kedge::checkpoint {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const Path kGolden = Path(KEDGE_FIXTURES) / "checkpoint" / "python.safetensors";

std::string raw(std::string_view header, std::string_view data) {
  std::string file;
  for (unsigned i = 0; i < 8; ++i) {
    file += static_cast<char>((header.size() >> (8 * i)) & 0xFFU);
  }
  return file + std::string(header) + std::string(data);
}

class SafetensorsTest : public testing::Test {
 protected:
  void put(const std::string& content) { std::ofstream(path_, std::ios::binary) << content; }

  Error error_for(const std::string& content) {
    put(content);
    auto file = open_safetensors(path_);
    EXPECT_FALSE(file) << content.substr(0, 200);
    return file ? Error{} : file.error();
  }

  ScratchFolder folder_;
  Path path_ = folder_ / "x.safetensors";
};

TEST_F(SafetensorsTest, what_python_wrote_comes_back_after_writing_it_again) {
  const auto golden = open_safetensors(kGolden);
  ASSERT_TRUE(golden);
  ASSERT_TRUE(write_safetensors(path_, (*golden)->tensors(), (*golden)->metadata()));
  EXPECT_EQ(std::filesystem::file_size(path_), std::filesystem::file_size(kGolden));
  const auto copy = open_safetensors(path_);
  ASSERT_TRUE(copy);
  for (const TensorView& old : (*golden)->tensors()) {
    const auto found = std::ranges::find((*copy)->tensors(), old.name, &TensorView::name);
    ASSERT_NE(found, (*copy)->tensors().end()) << old.name;
    EXPECT_EQ(found->type, old.type);
    EXPECT_EQ(found->shape, old.shape);
    EXPECT_TRUE(std::ranges::equal(found->bytes, old.bytes)) << old.name;
  }
}

TEST_F(SafetensorsTest, metadata_comes_back) {
  const auto golden = open_safetensors(kGolden);
  ASSERT_TRUE(golden);
  EXPECT_EQ((*golden)->metadata().at("format"), "pt");
  EXPECT_EQ((*golden)->metadata().at("note"), "gr\xC3\xBC\xC3\x9F dich");
  ASSERT_TRUE(write_safetensors(path_, {}, {{"a\"b", "line\nend"}}));
  EXPECT_EQ((*open_safetensors(path_))->metadata().at("a\"b"), "line\nend");
}

TEST_F(SafetensorsTest, data_is_aligned_whatever_the_order_of_the_tensors) {
  const std::array<std::uint8_t, 3> odd = {1, 2, 3};
  const std::array<std::uint8_t, 16> wide = {};
  ASSERT_TRUE(write_safetensors(
      path_,
      std::vector<TensorView>{{.name = "a", .type = DType::U8, .shape = {3}, .bytes = odd},
                              {.name = "b", .type = DType::F64, .shape = {2}, .bytes = wide}},
      {}));
  const std::string bytes = *read_file(path_);
  EXPECT_EQ((bytes.size() - odd.size() - wide.size()) % 8, 0U);
  EXPECT_EQ((*open_safetensors(path_))->tensors()[0].name, "b");
}

TEST_F(SafetensorsTest, unaligned_files_of_others_are_copied_into_place) {
  put(raw(R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}} )", "\1\2\3\4"));
  const auto file = open_safetensors(path_);
  ASSERT_TRUE(file);
  const auto bytes = (*file)->tensors()[0].bytes;
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes.data()) % 4, 0U);
  EXPECT_THAT(std::vector(bytes.begin(), bytes.end()), ElementsAre(1, 2, 3, 4));
}

TEST_F(SafetensorsTest, every_kind_of_damage_is_named) {
  const auto entry = [](std::string_view rest) {
    return raw(fmt::format("{{\"x\":{}}}", rest), "1234");
  };
  EXPECT_THAT(error_for("").message, HasSubstr("only 0 bytes"));
  EXPECT_THAT(error_for(std::string("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF{}")).message,
              HasSubstr("header claims"));
  EXPECT_THAT(error_for(raw("[1]", "")).message, HasSubstr("not a JSON object"));
  EXPECT_THAT(error_for(raw("{\"x\":", "")).message, HasSubstr("not JSON"));
  EXPECT_THAT(error_for(raw("{\"x\":[[[[[[1]]]]]]}", "")).message, HasSubstr("nested too deep"));
  EXPECT_THAT(error_for(entry("3")).message, HasSubstr("tensor 'x' is not described"));
  EXPECT_THAT(error_for(entry(R"({"dtype":"F32","shape":[-1],"data_offsets":[0,4]})")).message,
              HasSubstr("of the wrong kind"));
  EXPECT_THAT(error_for(entry(R"({"dtype":"F32","shape":[2],"data_offsets":[0,4]})")).message,
              HasSubstr("tensor 'x' of shape [2] and type F32 cannot lie at bytes 0 to 4"));
  EXPECT_THAT(error_for(entry(R"({"dtype":"F32","shape":[1],"data_offsets":[4,8]})")).message,
              HasSubstr("belong to the tensors before it"));
  EXPECT_THAT(error_for(entry(R"({"dtype":"U8","shape":[2],"data_offsets":[0,2]})")).message,
              HasSubstr("2 bytes at its end belong to no tensor"));
  EXPECT_THAT(error_for(entry(R"({"dtype":"U8","shape":[8],"data_offsets":[0,8]})")).message,
              HasSubstr("tensor 'x' lies at"));
  EXPECT_THAT(error_for(entry(R"({"dtype":"F8_E4M3","shape":[4],"data_offsets":[0,4]})")).message,
              HasSubstr("type F8_E4M3"));
  EXPECT_THAT(
      error_for(entry(R"({"dtype":"F32","shape":[4294967296,4294967296,4],"data_offsets":[0,4]})"))
          .message,
      HasSubstr("cannot lie"));
  const std::string one = R"("x":{"dtype":"U8","shape":[2],"data_offsets":[0,2]})";
  EXPECT_THAT(error_for(raw("{" + one + "," + one + "}", "12")).message,
              HasSubstr("the name 'x' stands twice"));
  EXPECT_THAT(error_for(raw(R"({"__metadata__":{"a":1}})", "")).message,
              HasSubstr("__metadata__ 'a' is not a string"));
}

TEST_F(SafetensorsTest, every_truncation_is_corrupt) {
  const std::string whole = *read_file(kGolden);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(error_for(whole.substr(0, size)).kind, ErrorKind::Corrupt) << size;
  }
}

TEST_F(SafetensorsTest, survives_any_flipped_byte) {
  const std::string whole = *read_file(kGolden);
  std::uint64_t hash = 0;
  for (std::size_t at = 0; at < whole.size() * 8; ++at) {
    std::string broken = whole;
    broken[at / 8] = static_cast<char>(broken[at / 8] ^ (1 << (at % 8)));
    put(broken);
    if (const auto file = open_safetensors(path_)) {
      for (const TensorView& view : (*file)->tensors()) {
        hash ^= xxh3_64(view.bytes);
      }
    }
  }
  EXPECT_NE(hash, 0U);
}

TEST_F(SafetensorsTest, names_that_no_reader_could_tell_apart_are_refused) {
  const std::array<std::uint8_t, 1> byte = {1};
  const TensorView view{.name = "a", .type = DType::U8, .shape = {1}, .bytes = byte};
  EXPECT_EQ(write_safetensors(path_, std::vector<TensorView>{view, view}, {}).error().kind,
            ErrorKind::Usage);
  TensorView latin = view;
  latin.name = "\xFF";
  EXPECT_EQ(write_safetensors(path_, std::span(&latin, 1), {}).error().kind, ErrorKind::Usage);
}

TEST_F(SafetensorsTest, a_full_disk_leaves_the_old_file) {
  const SmallDisk disk(64);
  if (!disk.is_mounted()) {
    GTEST_SKIP() << "mounting a tmpfs needs root";
  }
  const std::vector<std::uint8_t> small(100);
  const std::vector<std::uint8_t> large(200 << 10);
  const Path path = disk.path() / "x.safetensors";
  const TensorView first{.name = "a", .type = DType::U8, .shape = {100}, .bytes = small};
  const TensorView second{.name = "a", .type = DType::U8, .shape = {200 << 10}, .bytes = large};
  ASSERT_TRUE(write_safetensors(path, std::span(&first, 1), {}));
  const auto full = write_safetensors(path, std::span(&second, 1), {});
  ASSERT_FALSE(full);
  EXPECT_THAT(full.error().message, HasSubstr("No space left"));
  EXPECT_EQ((*open_safetensors(path))->tensors()[0].bytes.size(), 100U);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(disk.path()), {}), 1);
}

}  // namespace
}  // namespace kedge::checkpoint
