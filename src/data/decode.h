// JPEG and PNG files to 8-bit RGB pixels, exactly as the decoders give them (no scaled decoding).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/file.h"
#include "core/result.h"
#include "data/dataset.h"

namespace kedge::data {

// Grey images become RGB and transparency is dropped, as PIL's convert("RGB") does. `name` is for
// errors. A truncated or damaged image is Corrupt, never half an image.
Result<void> decode_image(std::span<const std::uint8_t> bytes, std::string_view name, Image& image);

Result<Image> read_image(const Path& path);

// By the name's ending: .jpg, .jpeg, .png in any case.
bool is_image_name(const Path& path);

}  // namespace kedge::data
