// decode_image and read_common_jpeg on any bytes.
#include <cstdint>
#include <span>

#include "core/result.h"
#include "data/decode.h"
#include "data/jpeg_header.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kedge;
  const std::span<const std::uint8_t> bytes(data, size);
  data::Image image;
  const auto decoded = data::decode_image(bytes, "input", image);
  if (decoded) {
    KEDGE_CHECK(image.pixels.size() == static_cast<std::size_t>(image.height * image.width * 3),
                "an image is whole");
  }
  if (const auto header = data::read_common_jpeg(bytes); header && decoded) {
    KEDGE_CHECK(header->height == image.height && header->width == image.width,
                "the header says what is decoded");
  }
  return 0;
}
