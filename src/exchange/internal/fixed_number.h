// Numbers as they are in memory, little-endian.
#pragma once

#include <cstring>
#include <string>

namespace kedge::exchange {

template <typename Number>
void append_fixed(std::string& out, Number number) {
  char bytes[sizeof(Number)];
  std::memcpy(bytes, &number, sizeof(Number));
  out.append(bytes, sizeof(Number));
}

}  // namespace kedge::exchange
