#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <vector>

// clang-format off: jerror.h needs what jpeglib.h defines
#include <jpeglib.h>
#include <jerror.h>
// clang-format on

#include "data/internal/decoders.h"

namespace kedge::data {
namespace {

struct JpegErrors {
  jpeg_error_mgr manager;  // first: libjpeg hands back a pointer to it
  std::jmp_buf jump;
  std::string* why;
};

void on_jpeg_error(j_common_ptr common) {
  auto* errors = reinterpret_cast<JpegErrors*>(common->err);
  char message[JMSG_LENGTH_MAX];
  common->err->format_message(common, message);
  *errors->why = message;
  std::longjmp(errors->jump, 1);
}

// libjpeg fills missing data with grey and only warns. Those warnings are errors here: a model
// must not learn from half an image.
void on_message(j_common_ptr common, int level) {
  if (level >= 0) {
    return;
  }
  switch (common->err->msg_code) {
    case JWRN_JPEG_EOF:
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
      on_jpeg_error(common);
      break;
    default:
      break;
  }
}

// Adobe's CMYK files hold inverted inks, which makes the conversion a product.
void cmyk_row_to_rgb(const std::uint8_t* cmyk, std::uint8_t* rgb, std::size_t width,
                     bool is_inverted) {
  for (std::size_t x = 0; x < width; ++x) {
    const auto light = [&](std::size_t i) -> unsigned {
      return is_inverted ? cmyk[4 * x + i] : 255U - cmyk[4 * x + i];
    };
    for (std::size_t c = 0; c < 3; ++c) {
      rgb[3 * x + c] = static_cast<std::uint8_t>(light(c) * light(3) / 255U);
    }
  }
}

// libjpeg leaves by longjmp: nothing in this frame may need a destructor.
bool decode_jpeg_image(jpeg_decompress_struct& jpeg, JpegErrors& errors, Image& image,
                       std::vector<std::uint8_t>& ink_row) {
  if (setjmp(errors.jump) != 0) {
    return false;
  }
  jpeg_read_header(&jpeg, TRUE);
  if (static_cast<std::int64_t>(jpeg.image_height) * jpeg.image_width > kMaxPixels) {
    *errors.why = "the image claims more than 2^28 pixels";
    return false;
  }
  const bool is_cmyk = jpeg.jpeg_color_space == JCS_CMYK || jpeg.jpeg_color_space == JCS_YCCK;
  jpeg.out_color_space = is_cmyk ? JCS_CMYK : JCS_RGB;
  jpeg_start_decompress(&jpeg);
  const std::size_t width = jpeg.output_width;
  image.height = jpeg.output_height;
  image.width = jpeg.output_width;
  image.channels = 3;
  image.pixels.resize(jpeg.output_height * width * 3);
  ink_row.resize(is_cmyk ? width * 4 : 0);
  while (jpeg.output_scanline < jpeg.output_height) {
    std::uint8_t* rgb = image.pixels.data() + jpeg.output_scanline * width * 3;
    std::uint8_t* row = is_cmyk ? ink_row.data() : rgb;
    jpeg_read_scanlines(&jpeg, &row, 1);
    if (is_cmyk) {
      cmyk_row_to_rgb(row, rgb, width, jpeg.saw_Adobe_marker != FALSE);
    }
  }
  jpeg_finish_decompress(&jpeg);
  return true;
}

}  // namespace

bool decode_jpeg(std::span<const std::uint8_t> bytes, Image& image, std::string& why) {
  jpeg_decompress_struct jpeg{};
  JpegErrors errors{};
  errors.why = &why;
  jpeg.err = jpeg_std_error(&errors.manager);
  errors.manager.error_exit = on_jpeg_error;
  errors.manager.emit_message = on_message;
  jpeg_create_decompress(&jpeg);
  jpeg_mem_src(&jpeg, bytes.data(), bytes.size());
  std::vector<std::uint8_t> ink_row;
  const bool is_decoded = decode_jpeg_image(jpeg, errors, image, ink_row);
  jpeg_destroy_decompress(&jpeg);
  return is_decoded;
}

}  // namespace kedge::data
