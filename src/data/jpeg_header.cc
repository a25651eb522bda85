#include "data/jpeg_header.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "data/internal/decoders.h"

namespace kedge::data {
namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::uint8_t kStart = 0xD8;
constexpr std::uint8_t kEnd = 0xD9;
constexpr std::uint8_t kBaseline = 0xC0;
constexpr std::uint8_t kScan = 0xDA;
constexpr std::uint8_t kAdobe = 0xEE;
constexpr std::array<std::uint8_t, 3> kColours = {1, 2, 3};  // as JFIF numbers Y, Cb and Cr

// Frames that are not baseline; C4, C8 and CC are tables.
bool is_other_frame(std::uint8_t mark) {
  return mark > kBaseline && mark <= 0xCF && mark != 0xC4 && mark != 0xC8 && mark != 0xCC;
}

std::size_t number_at(Bytes bytes, std::size_t i) {
  return static_cast<std::size_t>(bytes[i]) << 8U | bytes[i + 1];
}

// Adobe's programs say whether colours are YCbCr (1) or something else.
bool is_other_colour(Bytes adobe) {
  return adobe.size() >= 12 && std::ranges::equal(adobe.first(5), std::string_view("Adobe")) &&
         adobe[11] != 1;
}

std::optional<JpegHeader> read_frame(Bytes frame) {
  if (frame.size() < 6 || frame[0] != 8) {
    return std::nullopt;
  }
  const std::size_t count = frame[5];
  JpegHeader header{.height = static_cast<std::int64_t>(number_at(frame, 1)),
                    .width = static_cast<std::int64_t>(number_at(frame, 3)),
                    .is_grey = count == 1};
  const std::int64_t pixels = header.height * header.width;
  if ((count != 1 && count != 3) || frame.size() != 6 + 3 * count || pixels == 0 ||
      pixels > kMaxPixels) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint8_t columns = frame[7 + 3 * i] >> 4U;
    const std::uint8_t rows = frame[7 + 3 * i] & 15U;
    const bool may_be_finer = i == 0 && count == 3;
    const bool is_known =
        columns == 1 ? rows == 1 : may_be_finer && columns == 2 && (rows == 1 || rows == 2);
    if (frame[6 + 3 * i] != kColours[i] || !is_known) {
      return std::nullopt;
    }
    header.colour_columns = std::max<std::int64_t>(header.colour_columns, columns);
    header.colour_rows = std::max<std::int64_t>(header.colour_rows, rows);
  }
  // libjpeg does not smooth colours of two columns.
  const bool is_narrow = header.colour_columns == 2 && header.width <= 4;
  return is_narrow ? std::nullopt : std::optional(header);
}

}  // namespace

std::optional<JpegHeader> read_common_jpeg(Bytes file) {
  const std::size_t size = file.size();
  if (size < 4 || file[0] != 0xFF || file[1] != kStart || file[size - 2] != 0xFF ||
      file[size - 1] != kEnd) {
    return std::nullopt;
  }
  std::optional<JpegHeader> header;
  for (std::size_t at = 2; at + 4 <= size && file[at] == 0xFF;) {
    const std::uint8_t mark = file[at + 1];
    const std::size_t length = number_at(file, at + 2);
    if (length < 2 || at + 2 + length > size || is_other_frame(mark)) {
      return std::nullopt;
    }
    const Bytes content = file.subspan(at + 4, length - 2);
    if (mark == kScan) {
      const std::size_t components = header && header->is_grey ? 1 : 3;
      return header && !content.empty() && content[0] == components ? header : std::nullopt;
    }
    if (mark == kBaseline) {
      header = read_frame(content);
    }
    if ((mark == kBaseline && !header) || (mark == kAdobe && is_other_colour(content))) {
      return std::nullopt;
    }
    at += 2 + length;
  }
  return std::nullopt;
}

}  // namespace kedge::data
