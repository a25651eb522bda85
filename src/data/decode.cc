#include "data/decode.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include <fmt/format.h>

#include "core/hash.h"
#include "data/internal/decoders.h"

namespace kedge::data {
namespace {

template <std::size_t N>
bool starts_with(std::span<const std::uint8_t> bytes, const std::array<std::uint8_t, N>& magic) {
  return bytes.size() >= N && std::equal(magic.begin(), magic.end(), bytes.begin());
}

std::string ending_of(const Path& path) {
  std::string ending = path.extension().string();
  std::ranges::transform(ending, ending.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return ending;
}

constexpr std::array<std::uint8_t, 3> kJpegMagic = {0xFF, 0xD8, 0xFF};
constexpr std::array<std::uint8_t, 8> kPngMagic = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};

}  // namespace

Result<void> decode_image(std::span<const std::uint8_t> bytes, std::string_view name,
                          Image& image) {
  std::string why;
  bool is_decoded = false;
  if (starts_with(bytes, kJpegMagic)) {
    is_decoded = decode_jpeg(bytes, image, why);
  } else if (starts_with(bytes, kPngMagic)) {
    is_decoded = decode_png(bytes, image, why);
  } else {
    why = bytes.empty() ? "the file is empty" : "neither a JPEG nor a PNG";
  }
  if (!is_decoded) {
    return fail(ErrorKind::Corrupt, fmt::format("cannot decode image {}: {}", name, why),
                "replace or remove the file, or set data.on_error: skip");
  }
  return {};
}

Result<Image> read_image(const Path& path) {
  const std::string bytes = KEDGE_TRY(read_file(path));
  Image image;
  KEDGE_TRY(decode_image({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()},
                         path.string(), image));
  return image;
}

Result<void> decode_again(std::span<const std::uint8_t> bytes, std::string_view name, Known& known,
                          Sample& sample) {
  if (sample.jpeg == nullptr) {
    return decode_image(bytes, name, sample.image);
  }
  const std::uint32_t hash = static_cast<std::uint32_t>(xxh3_64(bytes)) | 1U;
  if (known == hash && sample.jpeg->decode(bytes, sample.image)) {
    return {};
  }
  KEDGE_TRY(decode_image(bytes, name, sample.image));
  known = hash;
  return {};
}

bool is_jpeg_name(const Path& path) {
  const std::string ending = ending_of(path);
  return ending == ".jpg" || ending == ".jpeg";
}

bool is_image_name(const Path& path) {
  return is_jpeg_name(path) || ending_of(path) == ".png";
}

}  // namespace kedge::data
