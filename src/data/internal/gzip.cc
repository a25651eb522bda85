#include "data/internal/gzip.h"

#include <cstddef>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>
#include <zlib.h>

namespace kedge::data {

Result<std::string> unpack_gzip(const std::string& packed, const Path& path_for_errors) {
  constexpr int kGzipWindow = 15 + 16;  // the largest window; 16 asks for a gzip header
  constexpr std::size_t kStep = std::size_t{1} << 20U;
  z_stream stream{};
  if (inflateInit2(&stream, kGzipWindow) != Z_OK) {
    return fail(ErrorKind::Io,
                fmt::format("cannot unpack {}: no memory", path_for_errors.string()));
  }
  // zlib does not change its input; its type predates const.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  std::string out;
  int status = Z_OK;
  while (status == Z_OK) {
    const std::size_t done = out.size();
    out.resize(done + kStep);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + done);
    stream.avail_out = kStep;
    status = inflate(&stream, Z_NO_FLUSH);
    out.resize(done + kStep - stream.avail_out);
  }
  inflateEnd(&stream);
  if (status != Z_STREAM_END) {
    return fail(ErrorKind::Corrupt,
                fmt::format("{} is not a whole gzip file (zlib error {} after {} bytes)",
                            path_for_errors.string(), status, out.size()),
                "get the file again");
  }
  return out;
}

Result<std::string> read_plain_or_gz(const Path& path) {
  const Path packed_path = path.string() + ".gz";
  std::error_code error;
  if (std::filesystem::exists(path, error) || !std::filesystem::exists(packed_path, error)) {
    return read_file(path);
  }
  return unpack_gzip(KEDGE_TRY(read_file(packed_path)), packed_path);
}

}  // namespace kedge::data
