// The two image decoders behind decode_image. Both put RGB into `image` or a reason into `why`.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "data/dataset.h"

namespace kedge::data {

// Larger claims are taken for damage: they would ask for gigabytes before a pixel is read.
inline constexpr std::int64_t kMaxPixels = std::int64_t{1} << 28;

bool decode_jpeg(std::span<const std::uint8_t> bytes, Image& image, std::string& why);
bool decode_png(std::span<const std::uint8_t> bytes, Image& image, std::string& why);

}  // namespace kedge::data
