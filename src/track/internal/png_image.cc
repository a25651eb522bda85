#include "track/internal/png_image.h"

#include <array>
#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <string>

#include <fmt/format.h>
#include <png.h>

#include "core/result.h"

namespace kedge::track {
namespace {

constexpr std::int64_t kMaxSide = 32768;

void append_bytes(png_structp png, png_bytep data, png_size_t size) {
  static_cast<std::string*>(png_get_io_ptr(png))->append(reinterpret_cast<const char*>(data), size);
}

void flush_nothing(png_structp) {}

// libpng reports errors by longjmp, so nothing with a destructor may live in here.
bool encode(png_structp png, png_infop info, const Image& image, std::string* out) {
  constexpr std::array<int, 4> kColours = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA,
                                           PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA};
  if (setjmp(png_jmpbuf(png)) != 0) {
    return false;
  }
  png_set_write_fn(png, out, append_bytes, flush_nothing);
  png_set_compression_level(png, 1);
  png_set_IHDR(png, info, static_cast<png_uint_32>(image.width),
               static_cast<png_uint_32>(image.height), 8,
               kColours[static_cast<std::size_t>(image.channels - 1)], PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, info);
  const auto row_bytes = static_cast<std::size_t>(image.width * image.channels);
  for (std::size_t row = 0; row < static_cast<std::size_t>(image.height); ++row) {
    png_write_row(png, image.pixels.data() + row * row_bytes);
  }
  png_write_end(png, info);
  return true;
}

}  // namespace

bool is_valid(const Image& image) {
  return image.height > 0 && image.width > 0 && image.height <= kMaxSide &&
         image.width <= kMaxSide && image.channels >= 1 && image.channels <= 4 &&
         image.pixels.size() ==
             static_cast<std::size_t>(image.height * image.width * image.channels);
}

Result<std::string> render_png(const Image& image) {
  KEDGE_CHECK(is_valid(image), "images are checked when they are logged");
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png == nullptr ? nullptr : png_create_info_struct(png);
  std::string out;
  const bool is_done = info != nullptr && encode(png, info, image, &out);
  png_destroy_write_struct(&png, &info);
  if (!is_done) {
    return fail(ErrorKind::Io, fmt::format("libpng could not encode an image of {} x {} x {}",
                                           image.height, image.width, image.channels));
  }
  return out;
}

}  // namespace kedge::track
