#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/random.h"
#include "core/result.h"
#include "data/internal/transform_args.h"
#include "data/pipeline.h"

namespace kedge::data {
namespace {

class Grey : public Transform {
 public:
  // ITU-R 601 luma in the fixed-point form of PIL's convert("L").
  void apply(Image& image, Visit&) const override {
    if (image.channels < 3) {
      return;
    }
    const auto channels = static_cast<std::size_t>(image.channels);
    const std::size_t count = image.pixels.size() / channels;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint8_t* pixel = image.pixels.data() + i * channels;
      const std::uint32_t luma = pixel[0] * 19595U + pixel[1] * 38470U + pixel[2] * 7471U + 0x8000U;
      image.pixels[i] = static_cast<std::uint8_t>(luma >> 16U);
    }
    image.pixels.resize(count);
    image.channels = 1;
  }
};

Result<std::unique_ptr<Transform>> make_grey(const TransformArgs& args) {
  KEDGE_TRY(parse_numbers({.form = "grey"}, args));
  return std::make_unique<Grey>();
}

const Transforms::Add kAddGrey({"grey", "grey: colours to one channel of brightness", make_grey});

}  // namespace
}  // namespace kedge::data
