// JPEG and PNG files to 8-bit RGB pixels, exactly as the decoders give them (no scaled decoding).
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/file.h"
#include "core/result.h"
#include "data/dataset.h"

namespace kedge::data {

// Grey images become RGB and transparency is dropped, as PIL's convert("RGB") does. `name` is for
// errors. A truncated or damaged image is Corrupt, never half an image. Safe from many threads;
// `image` keeps its memory from call to call.
Result<void> decode_image(std::span<const std::uint8_t> bytes, std::string_view name, Image& image);

Result<Image> read_image(const Path& path);

// What libjpeg decoded of a file before: a hash of its bytes, 0 for nothing.
using Known = std::atomic<std::uint32_t>;

// decode_image() of a file that comes up again and again into `sample.image`, with the help of its
// JpegHelper. A helper need not see damage (nvJPEG invents what is missing), so it is given only
// what libjpeg has decoded before.
Result<void> decode_again(std::span<const std::uint8_t> bytes, std::string_view name, Known& known,
                          Sample& sample);

// By the name's ending alone; the content is not looked at: .jpg, .jpeg, .png in any case.
bool is_image_name(const Path& path);
bool is_jpeg_name(const Path& path);

}  // namespace kedge::data
