// A checkpoint folder of any bytes: manifest.json, then model.safetensors behind the first zero
// byte. The manifest's last line, the hash of what is before it, is made right, because no mutation
// finds it; inputs that begin with '#' are the manifest as it is.
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "checkpoint/checkpoint.h"
#include "core/hash.h"
#include "core/scratch_folder.h"
#include "input_file.h"
#include "read_tensors.h"

namespace {

using namespace kedge;

// docs/formats/checkpoint.md: the object's closing brace is replaced by the hash of the text.
std::string with_hash(std::string_view text) {
  return fmt::format("{},\n\"manifest_xxh3\":\"{:016x}\"}}\n", text, xxh3_64(as_bytes(text)));
}

void write(const Path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const ScratchFolder folder;
  std::string_view shard = as_text(data, size);
  const std::string_view manifest = take_until_zero(shard);
  write(folder / "manifest.json",
        manifest.starts_with('#') ? std::string(manifest.substr(1)) : with_hash(manifest));
  write(folder / "model.safetensors", shard);
  const auto opened = checkpoint::Checkpoint::open(folder.path());
  if (!opened) {
    return 0;
  }
  (void)opened->verify();
  (void)opened->state().dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (opened->has_part("model")) {
    read_tensors(opened->part("model"));
  }
  return 0;
}
