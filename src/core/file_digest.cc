#include "core/file_digest.h"

#include <string>

#include "core/file.h"
#include "core/hash.h"

namespace kedge {

std::string sha256_of(std::string_view text) {
  Sha256 hash;
  hash.add(as_bytes(text));
  return hash.finish_hex();
}

Result<std::string> sha256_of_file(const Path& path) {
  const MappedFile file = KEDGE_TRY(MappedFile::open(path));
  Sha256 hash;
  hash.add(file.bytes());
  return hash.finish_hex();
}

}  // namespace kedge
