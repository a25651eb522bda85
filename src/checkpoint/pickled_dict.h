// A dict of uint8 arrays and lists of integers that Python pickled, such as CIFAR-10's batches,
// read without running any of the code that a pickle can hold.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/file.h"
#include "core/result.h"

namespace kedge::checkpoint {

struct ByteArray {
  std::vector<std::int64_t> shape;
  std::vector<std::uint8_t> bytes;  // row by row
};

// By key, be it text or bytes. Values of other kinds are left out.
struct PickledDict {
  std::map<std::string, ByteArray> arrays;
  std::map<std::string, std::vector<std::int64_t>> lists;
};

// Corrupt, with the place, where the pickle is cut short or asks to build an object of any other
// kind. Nothing of it is ever called.
Result<PickledDict> read_pickled_dict(const Path& path);

}  // namespace kedge::checkpoint
