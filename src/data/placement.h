// Placement says where the pixels of an augmented image come from. A device that holds a whole data
// set gets these few numbers for each sample instead of its pixels, and does the rest itself.
#pragma once

#include <cstdint>

#include "data/image.h"

namespace kedge::data {

// Output pixel (y, x) is source pixel (top + y * step_y, left + x * step_x); where that lies
// outside the source it is black, or with `reflect` the pixel as far inside the border. Then the
// rectangle [cut_top, cut_bottom) x [cut_left, cut_right) of the output is painted with the
// output's mean colour: the paper (arXiv:1708.04552) takes the data set's, which is 0 after
// normalisation, but 8-bit pixels come before it. GPU kernels read this struct: plain 32-bit
// numbers.
// Changes of colour, one after the other.
struct Colours {
  enum class Step : std::uint8_t { None, Brightness, Contrast, Saturation };

  static constexpr int kSteps = 3;

  std::int32_t order = 0;  // two bits for each step, the first in the lowest
  float brightness = 1;
  float contrast = 1;
  float saturation = 1;

  Step step(int i) const {
    return static_cast<Step>(static_cast<std::uint32_t>(order) >> (2U * static_cast<unsigned>(i)) &
                             3U);
  }

  void add(Step last);
};

struct Placement {
  std::int32_t index = 0;   // of the sample in its data set
  std::int32_t height = 0;  // of the output
  std::int32_t width = 0;
  std::int32_t top = 0;
  std::int32_t left = 0;
  std::int32_t step_y = 1;
  std::int32_t step_x = 1;
  std::int32_t cut_top = 0;
  std::int32_t cut_left = 0;
  std::int32_t cut_bottom = 0;
  std::int32_t cut_right = 0;
  std::int32_t reflect = 0;  // 0 or 1
  Colours colours = {};      // changed before the cut is painted

  void crop(std::int32_t crop_top, std::int32_t crop_left, std::int32_t new_height,
            std::int32_t new_width);
  void mirror_x();
  void mirror_y();
};

// The place inside [0, side) whose distance to the border is that of `at` outside of it.
constexpr std::int64_t reflected(std::int64_t at, std::int64_t side) {
  const std::int64_t period = side > 1 ? 2 * (side - 1) : 1;
  const std::int64_t within = (at % period + period) % period;
  return within < side ? within : period - within;
}

// Paints the placement's cut, if it has one, over pixels of the placement's size.
void paint_cut(const Placement& placement, std::int64_t channels, std::uint8_t* pixels);

// The placed image: `out` has room for the placement's size. What a GPU does for all samples of a
// batch at once, and the reference for it.
void render(const Placement& placement, const ImageShape& shape, const std::uint8_t* source,
            std::uint8_t* out);

static_assert(sizeof(Placement) == 16 * sizeof(std::int32_t));

// What a transform does to a placement. A list of transforms can be placed when it has at most one
// crop, one change of colours and one cut, in this order.
enum class Placing : std::uint8_t { None, Mirror, Crop, Colour, Cut };

}  // namespace kedge::data
