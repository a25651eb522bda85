// Runs a fuzzer's function on every file of a folder: what its corpus found once stays found, also
// where there is no libFuzzer.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>

#include "core/file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: replay FOLDER\n", stderr);
    return 2;
  }
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1])) {
    std::printf("%s\n", entry.path().filename().c_str());
    std::fflush(stdout);
    const std::string input = kedge::read_file(entry.path()).value_or("");
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
    ++count;
  }
  return count > 0 ? 0 : 1;
}
