#include "data/internal/idx_files.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "data/internal/gzip.h"

namespace kedge::data {
namespace {

constexpr std::uint32_t kImagesMagic = 0x00000803;
constexpr std::uint32_t kLabelsMagic = 0x00000801;

std::uint64_t big_endian(const std::string& bytes, std::size_t word) {
  std::uint64_t value = 0;
  for (std::size_t i = 4 * word; i < 4 * word + 4; ++i) {
    value = (value << 8U) | static_cast<std::uint8_t>(bytes[i]);
  }
  return value;
}

// The idx file's bytes, once its magic is right and its length is what its header says.
Result<std::string> read_checked(const Path& path, std::uint32_t magic, std::size_t dimensions) {
  std::string bytes = KEDGE_TRY(read_plain_or_gz(path));
  const std::size_t header = 4 * (1 + dimensions);
  if (bytes.size() < header || big_endian(bytes, 0) != magic) {
    return fail(ErrorKind::Corrupt,
                fmt::format("{} does not begin with the idx magic {:#010x}", path.string(), magic),
                "the file is not what its name says; get it again");
  }
  std::uint64_t expected = 1;
  for (std::size_t i = 1; i <= dimensions; ++i) {
    // 2^32 * 2^20 keeps the product below 2^64; no idx image has a side beyond that.
    expected *= big_endian(bytes, i);
    if (expected >> 40U != 0) {
      break;
    }
  }
  if (bytes.size() - header != expected) {
    return fail(ErrorKind::Corrupt,
                fmt::format("{} has {} bytes of data where its header says {}", path.string(),
                            bytes.size() - header, expected),
                "the file is truncated or damaged; get it again");
  }
  return bytes;
}

// The folder that holds the files: `folder` itself or one that a package or torchvision makes.
std::optional<Path> find_idx_folder(const Path& folder) {
  for (const char* inside : {"", "raw", "data", "MNIST/raw", "FashionMNIST/raw", "package/data"}) {
    const Path place = *inside == '\0' ? folder : folder / inside;
    const std::string file = (place / kIdxFiles[0]).string();
    std::error_code error;
    if (std::filesystem::exists(file, error) || std::filesystem::exists(file + ".gz", error)) {
      return place;
    }
  }
  return std::nullopt;
}

// Each image file is magic 0x00000803, count, rows, columns (big-endian u32) and the pixels; each
// label file 0x00000801, count and the labels.
Result<ImageBlock> read_idx(const Path& folder, std::string_view images, std::string_view labels) {
  const std::string pixels = KEDGE_TRY(read_checked(folder / images, kImagesMagic, 3));
  const std::string names = KEDGE_TRY(read_checked(folder / labels, kLabelsMagic, 1));
  if (big_endian(pixels, 1) != big_endian(names, 1)) {
    return fail(ErrorKind::Corrupt,
                fmt::format("{} has {} images but {} labels", folder.string(),
                            big_endian(pixels, 1), big_endian(names, 1)),
                "the two files do not belong together; get them again");
  }
  ImageBlock block;
  block.height = static_cast<std::int64_t>(big_endian(pixels, 2));
  block.width = static_cast<std::int64_t>(big_endian(pixels, 3));
  block.channels = 1;
  block.pixels.assign(pixels.begin() + 16, pixels.end());
  block.labels.assign(names.begin() + 8, names.end());
  return block;
}

void append_word(std::string& out, std::uint64_t value) {
  for (unsigned shift = 32; shift > 0;) {
    shift -= 8;
    out.push_back(static_cast<char>((value >> shift) & 0xFFU));
  }
}

Result<void> write_block(const ImageBlock& block, const Path& images, const Path& labels) {
  std::string out;
  append_word(out, kImagesMagic);
  append_word(out, block.labels.size());
  append_word(out, static_cast<std::uint64_t>(block.height));
  append_word(out, static_cast<std::uint64_t>(block.width));
  out.append(block.pixels.begin(), block.pixels.end());
  KEDGE_TRY(write_file_atomic(images, out));
  out.clear();
  append_word(out, kLabelsMagic);
  append_word(out, block.labels.size());
  out.append(block.labels.begin(), block.labels.end());
  return write_file_atomic(labels, out);
}

}  // namespace

Result<ImageParts> read_idx_parts(const Path& folder) {
  const auto place = find_idx_folder(folder);
  if (!place) {
    return fail(ErrorKind::NotFound, fmt::format("no idx files in {}", folder.string()));
  }
  ImageParts data;
  data.train = KEDGE_TRY(read_idx(*place, kIdxFiles[0], kIdxFiles[1]));
  data.test = KEDGE_TRY(read_idx(*place, kIdxFiles[2], kIdxFiles[3]));
  return data;
}

Result<void> write_idx_parts(const ImageParts& data, const Path& folder) {
  KEDGE_TRY(write_block(data.train, folder / kIdxFiles[0], folder / kIdxFiles[1]));
  return write_block(data.test, folder / kIdxFiles[2], folder / kIdxFiles[3]);
}

}  // namespace kedge::data
