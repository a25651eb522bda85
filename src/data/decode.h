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
// errors. A truncated or damaged image is Corrupt, never half an image.
Result<void> decode_image(std::span<const std::uint8_t> bytes, std::string_view name, Image& image);

Result<Image> read_image(const Path& path);

// Somebody who gives a JPEG's pixels faster than libjpeg, and the same: a GPU.
class JpegHelper {
 public:
  virtual ~JpegHelper() = default;

  // From any thread. False leaves the file to libjpeg.
  virtual bool decode(std::span<const std::uint8_t> bytes, Image& image) = 0;
};

// For the rest of the process; call while no images are being read.
void set_jpeg_helper(JpegHelper* helper);

// What libjpeg decoded of a file before: a hash of its bytes, 0 for nothing.
using Known = std::atomic<std::uint32_t>;

// decode_image() of a file that comes up again and again, with the helper's help. A helper need not
// see damage (nvJPEG invents what is missing), so it is given only what libjpeg has decoded before.
Result<void> decode_again(std::span<const std::uint8_t> bytes, std::string_view name, Known& known,
                          Image& image);

// By the name's ending: .jpg, .jpeg, .png in any case.
bool is_image_name(const Path& path);
bool is_jpeg_name(const Path& path);

}  // namespace kedge::data
