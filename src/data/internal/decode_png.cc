#include <csetjmp>
#include <cstddef>
#include <cstring>

#include <png.h>

#include "data/internal/decoders.h"

namespace kedge::data {
namespace {

struct Reader {
  std::span<const std::uint8_t> rest;
  std::string* why;
};

void read_bytes(png_structp png, png_bytep out, std::size_t count) {
  auto* reader = static_cast<Reader*>(png_get_io_ptr(png));
  if (reader->rest.size() < count) {
    png_error(png, "the file is truncated");
  }
  std::memcpy(out, reader->rest.data(), count);
  reader->rest = reader->rest.subspan(count);
}

void on_png_error(png_structp png, png_const_charp message) {
  *static_cast<Reader*>(png_get_error_ptr(png))->why = message;
  png_longjmp(png, 1);
}

void on_warning(png_structp, png_const_charp) {}

void ask_for_rgb8(png_structp png) {
  png_set_strip_16(png);
  png_set_palette_to_rgb(png);
  png_set_expand_gray_1_2_4_to_8(png);
  png_set_strip_alpha(png);
  png_set_gray_to_rgb(png);
}

// libpng leaves by longjmp: nothing in this frame may need a destructor.
bool decode_png_image(png_structp png, png_infop info, Image& image) {
  if (setjmp(png_jmpbuf(png)) != 0) {
    return false;
  }
  png_read_info(png, info);
  const auto height = static_cast<std::int64_t>(png_get_image_height(png, info));
  const auto width = static_cast<std::int64_t>(png_get_image_width(png, info));
  if (height * width > kMaxPixels) {
    png_error(png, "the image claims more than 2^28 pixels");
  }
  ask_for_rgb8(png);
  const int passes = png_set_interlace_handling(png);
  png_read_update_info(png, info);
  const std::size_t row_bytes = png_get_rowbytes(png, info);
  if (row_bytes != static_cast<std::size_t>(width) * 3) {
    png_error(png, "the pixels cannot be made RGB");
  }
  image.height = height;
  image.width = width;
  image.channels = 3;
  image.pixels.resize(static_cast<std::size_t>(height) * row_bytes);
  for (int pass = 0; pass < passes; ++pass) {
    for (std::size_t y = 0; y < static_cast<std::size_t>(height); ++y) {
      png_read_row(png, image.pixels.data() + y * row_bytes, nullptr);
    }
  }
  png_read_end(png, nullptr);
  return true;
}

}  // namespace

bool decode_png(std::span<const std::uint8_t> bytes, Image& image, std::string& why) {
  Reader reader{bytes, &why};
  png_structp png =
      png_create_read_struct(PNG_LIBPNG_VER_STRING, &reader, on_png_error, on_warning);
  png_infop info = png == nullptr ? nullptr : png_create_info_struct(png);
  if (info == nullptr) {
    png_destroy_read_struct(&png, nullptr, nullptr);
    why = "no memory for the PNG decoder";
    return false;
  }
  png_set_read_fn(png, &reader, read_bytes);
  const bool is_decoded = decode_png_image(png, info, image);
  png_destroy_read_struct(&png, &info, nullptr);
  return is_decoded;
}

}  // namespace kedge::data
