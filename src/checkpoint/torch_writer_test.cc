#include <cstddef>
#include <cstdint>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/internal/zip_archive.h"
#include "checkpoint/internal/zip_writer.h"
#include "checkpoint/tensor_file.h"
#include "core/file.h"
#include "core/hash.h"
#include "core/result.h"
#include "core/scratch_folder.h"

namespace kedge::checkpoint {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// tests/python/interop_test.py reads such files with torch itself.
TEST(TorchWriterTest, tensors_of_every_type_come_back) {
  const ScratchFolder folder;
  std::vector<std::uint8_t> bytes(48);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::uint8_t>(i % 2);
  }
  std::vector<TensorView> tensors;
  for (const DType type : {DType::F64, DType::F32, DType::F16, DType::BF16, DType::I64, DType::I32,
                           DType::I16, DType::I8, DType::U8, DType::Bool}) {
    const std::int64_t count = 48 / size_of(type);
    tensors.push_back({std::string(name_of(type)), type, {2, count / 2}, bytes});
  }
  tensors.push_back({"scalar", DType::F64, {}, std::span(bytes).first(8)});
  tensors.push_back({"empty", DType::F32, {0, 3}, {}});
  ASSERT_TRUE(write_torch_file(folder / "a.pt", tensors));
  const auto file = open_tensors(folder / "a.pt");
  ASSERT_TRUE(file) << file.error().message;
  const auto& back = (*file)->tensors();
  ASSERT_EQ(back.size(), tensors.size());
  for (std::size_t i = 0; i < back.size(); ++i) {
    EXPECT_EQ(back[i].name, tensors[i].name);
    EXPECT_EQ(back[i].type, tensors[i].type);
    EXPECT_EQ(back[i].shape, tensors[i].shape);
    EXPECT_TRUE(std::ranges::equal(back[i].bytes, tensors[i].bytes)) << back[i].name;
  }
  // As the reader maps them, they lie at multiples of 64 of the file.
  EXPECT_EQ((reinterpret_cast<std::uintptr_t>(back[1].bytes.data()) -
             reinterpret_cast<std::uintptr_t>(back[0].bytes.data())) %
                64,
            0U);
}

TEST(TorchWriterTest, a_folder_that_is_not_there_is_named) {
  const auto written = write_torch_file("/no/such/folder/a.pt", {});
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message, HasSubstr("/no/such/folder/a.pt"));
}

// The check value of CRC-32/ISO-HDLC.
TEST(ZipWriterTest, crc_is_that_of_the_standard) {
  EXPECT_EQ(crc32(as_bytes("123456789")), 0xCBF43926U);
  EXPECT_EQ(crc32({}), 0U);
}

TEST(ZipWriterTest, zip64_fields_are_read_back) {
  const ScratchFolder folder;
  const Path path = folder / "a.zip";
  for (const std::uint64_t zip64_from : {0U, 5U, 100U}) {
    const OwnedFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    ZipWriter zip(fd.get(), path, zip64_from);
    ASSERT_TRUE(zip.add("r/one", std::string_view("hello")));
    ASSERT_TRUE(zip.add("r/two", std::string_view("")));
    ASSERT_TRUE(zip.add("r/three", std::string_view("good bye")));
    ASSERT_TRUE(zip.finish());
    const auto file = MappedFile::open(path);
    const auto records = read_zip(path, file->bytes());
    ASSERT_TRUE(records) << records.error().message;
    EXPECT_EQ(records->size(), 3U);
    EXPECT_THAT(records->at("r/one"), ElementsAre('h', 'e', 'l', 'l', 'o'));
    EXPECT_EQ(records->at("r/three").size(), 8U);
    EXPECT_EQ((records->at("r/three").data() - file->bytes().data()) % 64, 0);
  }
}

}  // namespace
}  // namespace kedge::checkpoint
