#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <ios>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/tensor_file.h"
#include "core/file.h"
#include "core/result.h"
#include "core/scratch_folder.h"

namespace kedge::checkpoint {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The expected numbers are those tests/fixtures/checkpoint/make_fixtures.py gives to torch 2.11.
const Path kFixtures = Path(KEDGE_FIXTURES) / "checkpoint";

std::unique_ptr<TensorFile> load(const Path& path) {
  auto file = open_tensors(path);
  EXPECT_TRUE(file) << (file ? "" : file.error().message);
  return file ? std::move(*file) : nullptr;
}

const TensorView& tensor(const TensorFile& file, std::string_view name) {
  const auto found = std::ranges::find(file.tensors(), name, &TensorView::name);
  KEDGE_CHECK(found != file.tensors().end(), "the test asks for tensors of the fixture");
  return *found;
}

template <typename T>
std::vector<T> values(const TensorFile& file, std::string_view name) {
  const TensorView& view = tensor(file, name);
  std::vector<T> numbers(view.bytes.size() / sizeof(T));
  if (!numbers.empty()) {
    std::memcpy(numbers.data(), view.bytes.data(), view.bytes.size());
  }
  return numbers;
}

void write_plainly(const Path& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

Error error_of(const Path& path) {
  auto file = open_torch_file(path);
  EXPECT_FALSE(file) << path;
  return file ? Error{} : file.error();
}

class TorchFileTest : public testing::Test {
 protected:
  ScratchFolder folder_;
  Path path_ = folder_ / "x.pt";
};

TEST_F(TorchFileTest, reads_the_state_dict_of_a_module) {
  for (const char* name : {"module.pt", "zip64.pt"}) {
    const auto file = load(kFixtures / name);
    ASSERT_TRUE(file);
    EXPECT_EQ(file->tensors().size(), 7U);
    EXPECT_THAT(tensor(*file, "0.weight").shape, ElementsAre(3, 4));
    EXPECT_THAT(values<float>(*file, "0.weight"),
                ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
    EXPECT_THAT(values<float>(*file, "0.bias"), ElementsAre(0.5F, 1.5F, 2.5F));
    EXPECT_THAT(values<float>(*file, "1.running_var"), ElementsAre(1, 1, 1));
    EXPECT_THAT(values<std::int64_t>(*file, "1.num_batches_tracked"), ElementsAre(0));
  }
}

TEST_F(TorchFileTest, reads_every_element_type) {
  for (const char* name : {"types.pt", "python.safetensors"}) {
    const auto file = load(kFixtures / name);
    ASSERT_TRUE(file);
    EXPECT_EQ(file->tensors().size(), 12U);
    EXPECT_EQ(values<float>(*file, "weight").back(), 11.5F);
    EXPECT_THAT(values<double>(*file, "bias"), ElementsAre(1.0, -2.0, 0.25));
    EXPECT_THAT(values<std::uint16_t>(*file, "half"), ElementsAre(0x3E00, 0xB800));
    EXPECT_THAT(values<std::uint16_t>(*file, "brain"), ElementsAre(0x3FC0, 0xBF00));
    EXPECT_EQ(tensor(*file, "half").type, DType::F16);
    EXPECT_EQ(tensor(*file, "brain").type, DType::BF16);
    EXPECT_THAT(values<std::int64_t>(*file, "long"), ElementsAre(std::int64_t{1} << 40, -1));
    EXPECT_THAT(values<std::int32_t>(*file, "int"), ElementsAre(7));
    EXPECT_THAT(values<std::int16_t>(*file, "short"), ElementsAre(-300));
    EXPECT_THAT(values<std::int8_t>(*file, "char"), ElementsAre(-5));
    EXPECT_THAT(values<std::uint8_t>(*file, "byte"), ElementsAre(250, 251, 252));
    EXPECT_THAT(values<std::uint8_t>(*file, "flag"), ElementsAre(1, 0));
    EXPECT_EQ(tensor(*file, "flag").type, DType::Bool);
    EXPECT_THAT(tensor(*file, "scalar").shape, ElementsAre());
    EXPECT_THAT(values<std::int64_t>(*file, "scalar"), ElementsAre(42));
    EXPECT_THAT(tensor(*file, "empty").shape, ElementsAre(0, 3));
  }
}

TEST_F(TorchFileTest, views_become_row_major) {
  const auto file = load(kFixtures / "views.pt");
  ASSERT_TRUE(file);
  EXPECT_THAT(tensor(*file, "transposed").shape, ElementsAre(4, 3));
  EXPECT_THAT(values<float>(*file, "transposed"),
              ElementsAre(0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11));
  EXPECT_THAT(values<float>(*file, "column"), ElementsAre(1, 5, 9));
  EXPECT_THAT(values<float>(*file, "row"), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(values<float>(*file, "expanded"), ElementsAre(9, 9, 9, 9, 9, 9));
  EXPECT_THAT(values<float>(*file, "parameter"), ElementsAre(8, 9, 10, 11));
}

TEST_F(TorchFileTest, finds_the_weights_inside_a_whole_checkpoint) {
  const auto file = load(kFixtures / "whole.pt");
  ASSERT_TRUE(file);
  ASSERT_EQ(file->tensors().size(), 1U);
  EXPECT_EQ(file->tensors()[0].name, "module.w");
}

TEST_F(TorchFileTest, refuses_code_by_name) {
  EXPECT_THAT(error_of(kFixtures / "os_system.pt").message,
              HasSubstr("refusing to call os.system: not a plain state dict"));
  EXPECT_THAT(error_of(kFixtures / "evil.pt").message, HasSubstr("refusing to call posix.system"));
  EXPECT_FALSE(std::filesystem::exists("/tmp/kedge-was-here"));
}

TEST_F(TorchFileTest, says_how_to_save_again_what_it_cannot_read) {
  EXPECT_THAT(error_of(kFixtures / "legacy.pt").hint, HasSubstr("re-save"));
  EXPECT_THAT(error_of(kFixtures / "big_endian.pt").hint, HasSubstr("re-save"));
  EXPECT_THAT(error_of(kFixtures / "big_endian.pt").message, HasSubstr("big-endian"));
  EXPECT_THAT(error_of(kFixtures / "script.pt").message, HasSubstr("TorchScript"));
}

TEST_F(TorchFileTest, every_truncation_is_an_error) {
  const std::string whole = *read_file(kFixtures / "module.pt");
  for (std::size_t size = 0; size < whole.size(); size += 7) {
    write_plainly(path_, whole.substr(0, size));
    EXPECT_EQ(error_of(path_).kind, ErrorKind::Corrupt) << size;
  }
}

// A flipped byte may change a value or a name, but must never crash or reach outside of the file.
TEST_F(TorchFileTest, survives_any_flipped_byte) {
  for (const char* name : {"whole.pt", "views.pt", "zip64.pt"}) {
    const std::string whole = *read_file(kFixtures / name);
    std::uint64_t sum = 0;
    for (std::size_t at = 0; at < whole.size(); ++at) {
      std::string broken = whole;
      broken[at] = static_cast<char>(broken[at] ^ (1 << (at % 8)));
      write_plainly(path_, broken);
      if (const auto file = open_torch_file(path_)) {
        for (const TensorView& view : (*file)->tensors()) {
          for (const std::uint8_t byte : view.bytes) {
            sum += byte;
          }
        }
      }
    }
    EXPECT_GT(sum, 0U);
  }
}

}  // namespace
}  // namespace kedge::checkpoint
