// Shapes: what an architecture asks of its input, checked before any layer is made.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/result.h"
#include "nn/model.h"

namespace kedge::nn {

// A convolution or a pooling, as far as sizes go.
struct Window {
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t padding = 0;
};

inline constexpr Window kPool2{.kernel = 2, .stride = 2};

struct ImageSize {
  std::int64_t height = 0;
  std::int64_t width = 0;

  std::int64_t area() const { return height * width; }
};

// The side that is left after all windows; 0 when the image is too small for one of them.
std::int64_t side_after(std::int64_t side, std::span<const Window> windows);

// The size of the last feature map. Images too small for the network are a Usage error that says
// how large they must be.
Result<ImageSize> size_after(std::string_view model, const Signature& signature,
                             std::span<const Window> windows);

Result<void> require_images(std::string_view model, const Signature& signature);
Result<void> require_tokens(std::string_view model, const Signature& signature);
Result<void> require_text_classes(std::string_view model, const Signature& signature);
Result<void> require_heads_divide(std::string_view model, std::int64_t width, std::int64_t heads);

// As messages show it: [2, 10].
std::string shape_text(std::span<const std::int64_t> shape);

}  // namespace kedge::nn
