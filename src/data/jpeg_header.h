// What a JPEG file says of itself before its pixels.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace kedge::data {

struct JpegHeader {
  std::int64_t height = 0;
  std::int64_t width = 0;
  bool is_grey = false;
  // Pixels that share one sample of colour, down and across: 1 or 2.
  std::int64_t colour_rows = 1;
  std::int64_t colour_columns = 1;
};

// Of the files that cameras and data sets hold: baseline, grey or YCbCr with colours in whole, half
// or quarter resolution, in one scan, down to the mark at its end. Nothing of any other: a GPU's
// engine may see it otherwise than libjpeg does.
std::optional<JpegHeader> read_common_jpeg(std::span<const std::uint8_t> file);

}  // namespace kedge::data
