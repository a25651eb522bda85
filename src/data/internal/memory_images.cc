#include "data/internal/memory_images.h"

#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "core/hash.h"

namespace kedge::data {

MemoryImages::MemoryImages(DatasetInfo info, std::string part, std::vector<std::uint8_t> pixels,
                           std::vector<std::uint8_t> labels)
    : info_(std::move(info)),
      part_(std::move(part)),
      pixels_(std::move(pixels)),
      labels_(std::move(labels)),
      shape_(info_.image_shape()),
      image_bytes_(info_.fields.front().bytes_per_sample()) {
  KEDGE_CHECK(pixels_.size() == labels_.size() * image_bytes_, "one label for every image");
  Digest digest;
  digest.add(
      fmt::format("images {} {} {} {}", size(), shape_.height, shape_.width, shape_.channels));
  digest.add(pixels_);
  digest.add(labels_);
  digest_ = digest.text();
}

std::string MemoryImages::name(std::int64_t index) const {
  return fmt::format("{}/{}", part_, index);
}

Result<void> MemoryImages::read(std::int64_t index, Sample& sample) const {
  const std::uint8_t* first = pixels_.data() + static_cast<std::size_t>(index) * image_bytes_;
  sample.image.height = shape_.height;
  sample.image.width = shape_.width;
  sample.image.channels = shape_.channels;
  sample.image.pixels.assign(first, first + image_bytes_);
  return {};
}

}  // namespace kedge::data
