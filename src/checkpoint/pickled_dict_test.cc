#include "checkpoint/pickled_dict.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/scratch_folder.h"

namespace kedge::checkpoint {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using namespace std::string_literals;

Result<PickledDict> read(const std::string& pickle) {
  const ScratchFolder folder;
  const Path path = folder / "dict";
  EXPECT_TRUE(write_file_atomic(path, pickle));
  return read_pickled_dict(path);
}

// An array of two bytes as numpy pickles it with protocol 2; `shape` and `type` are opcodes.
std::string array(const std::string& shape = "K\x02\x85", const std::string& type = "U\x02u1") {
  return "cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\nK\x00\x85U\x01"s + "btR" +
         "(K\x01" + shape + "cnumpy\ndtype\n(" + type + "K\x00K\x01tR\x89U\x02xytb"s;
}

TEST(PickledDict, has_arrays_and_lists_by_key) {
  const auto dict = read("\x80\x02}(U\x04"s + "data" + array() + "X\x06\x00\x00\x00"s + "labels" +
                         "](K\x05J\xff\xff\xff\xff" + "eU\x04" + "nameU\x01nu.");
  ASSERT_TRUE(dict) << dict.error().message;
  EXPECT_THAT(dict->arrays.at("data").shape, ElementsAre(2));
  EXPECT_THAT(dict->arrays.at("data").bytes, ElementsAre('x', 'y'));
  EXPECT_THAT(dict->lists.at("labels"), ElementsAre(5, -1));
  EXPECT_EQ(dict->arrays.size() + dict->lists.size(), 2U);
}

TEST(PickledDict, leaves_out_arrays_of_other_types) {
  const auto dict = read("}U\x04"s + "data" + array("K\x02\x85", "U\x02i2") + "s.");
  ASSERT_TRUE(dict) << dict.error().message;
  EXPECT_TRUE(dict->arrays.empty());
}

TEST(PickledDict, refuses_what_does_not_fit_together) {
  const auto error = [](const std::string& pickle) {
    const auto dict = read(pickle);
    EXPECT_FALSE(dict);
    return dict ? "" : dict.error().message;
  };
  EXPECT_THAT(error("}U\x04"s + "data" + array("K\x03\x85") + "s."),
              HasSubstr("an array of shape [3] has 2 bytes"));
  EXPECT_THAT(error("}U\x04"s + "data" + array("J\xff\xff\xff\xff\x85") + "s."),
              HasSubstr("shape is not made of sizes"));
  EXPECT_THAT(error("cos\nsystem\n(U\x02lstR."), HasSubstr("refusing to call os.system"));
  EXPECT_THAT(error("cnumpy\nndarray\n(tR."), HasSubstr("its pickle is damaged"));
  EXPECT_THAT(error("]."), HasSubstr("does not hold a dict"));
}

// A value that many keys refer to is read many times from few bytes.
TEST(PickledDict, does_not_grow_beyond_its_file) {
  std::string pickle = "}(U\x01"s + "a" +
                       "cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n" +
                       "K\x00\x85U\x01"s + "btR(K\x01M\x00\x04\x85"s + "cnumpy\ndtype\n(U\x02u1" +
                       "K\x00K\x01tR\x89T\x00\x04\x00\x00"s + std::string(1024, 'z') + "tbq\x07";
  for (int i = 0; i < 200; ++i) {
    pickle += "U\x03" + std::to_string(100 + i) + "h\x07";
  }
  const auto dict = read(pickle + "u.");
  ASSERT_FALSE(dict);
  EXPECT_THAT(dict.error().message, HasSubstr("more room than the file"));
}

}  // namespace
}  // namespace kedge::checkpoint
