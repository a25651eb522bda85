// open_safetensors on any bytes, then every byte of every tensor.
#include <cstdint>

#include "checkpoint/tensor_file.h"
#include "input_file.h"
#include "read_tensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kedge;
  static InputFile file;
  file.fill(as_text(data, size));
  if (const auto tensors = checkpoint::open_safetensors(file.path())) {
    read_tensors(**tensors);
  }
  return 0;
}
