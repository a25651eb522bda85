// For tests: damage to a file, one bit in one byte.
#pragma once

#include <cstddef>
#include <fstream>
#include <ios>

#include "core/file.h"

namespace kedge {

inline void flip_byte(const Path& path, std::size_t at) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(at));
  const auto byte = static_cast<char>(file.get() ^ (1 << (at % 8)));
  file.seekp(static_cast<std::streamoff>(at));
  file.put(byte);
}

}  // namespace kedge
