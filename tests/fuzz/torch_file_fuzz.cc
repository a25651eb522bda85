// open_torch_file on any bytes. Inputs that begin with "PK" are the file; others are the pickle
// inside a whole zip file with the records data/0 (64 bytes) and data/1 (none).
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checkpoint/tensor_file.h"
#include "input_file.h"
#include "read_tensors.h"

namespace {

using namespace kedge;

void append(std::string& out, std::uint64_t value, unsigned size) {
  for (unsigned i = 0; i < size; ++i) {
    out += static_cast<char>((value >> (8 * i)) & 0xFFU);
  }
}

// The fields that both headers of a stored entry share; the reader does not check CRCs.
void append_entry(std::string& out, std::string_view name, std::size_t size) {
  append(out, 0, 2);  // flags
  append(out, 0, 2);  // stored
  append(out, 0, 4);  // time and date
  append(out, 0, 4);  // CRC
  append(out, size, 4);
  append(out, size, 4);
  append(out, name.size(), 2);
  append(out, 0, 2);  // extra fields
}

std::string make_zip(std::string_view pickle) {
  const std::string storage(64, 'x');
  const std::vector<std::pair<std::string_view, std::string_view>> records = {
      {"a/data.pkl", pickle}, {"a/data/0", storage}, {"a/data/1", ""}};
  std::string file;
  std::string directory;
  for (const auto& [name, bytes] : records) {
    const std::size_t offset = file.size();
    append(file, 0x04034b50, 4);
    append(file, 0, 2);
    append_entry(file, name, bytes.size());
    file += name;
    file += bytes;
    append(directory, 0x02014b50, 4);
    append(directory, 0, 4);
    append_entry(directory, name, bytes.size());
    directory.append(10, '\0');  // comment, disk, attributes
    append(directory, offset, 4);
    directory += name;
  }
  const std::size_t offset = file.size();
  file += directory;
  append(file, 0x06054b50, 4);
  append(file, 0, 4);
  append(file, records.size(), 2);
  append(file, records.size(), 2);
  append(file, directory.size(), 4);
  append(file, offset, 4);
  append(file, 0, 2);
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static InputFile file;
  const std::string_view input = as_text(data, size);
  file.fill(input.starts_with("PK") ? std::string(input) : make_zip(input));
  if (const auto tensors = checkpoint::open_torch_file(file.path())) {
    read_tensors(**tensors);
  }
  return 0;
}
