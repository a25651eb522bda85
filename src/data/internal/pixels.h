// Operations on 8-bit images that several transforms share.
#pragma once

#include <cstdint>

#include "data/dataset.h"

namespace kedge::data {

struct Rect {
  std::int64_t top = 0;
  std::int64_t left = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
};

// What lies outside the image is black.
void crop(Image& image, const Rect& rect);

// Bilinear with anti-aliasing, in PIL's fixed-point arithmetic: the same pixels as
// PIL.Image.resize(..., BILINEAR), and so as torchvision's Resize on PIL images.
void resize(Image& image, std::int64_t height, std::int64_t width);

}  // namespace kedge::data
