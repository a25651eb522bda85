// Colours are changed with the pixels that PIL's ImageEnhance (and so torchvision's ColorJitter on
// PIL images) gives. Factor 1 changes nothing.
#pragma once

#include <cstdint>
#include <span>

#include "data/placement.h"

namespace kedge::data {

// In place; grey images have no saturation to change.
void change_colours(const Colours& colours, std::int64_t channels, std::span<std::uint8_t> pixels);

}  // namespace kedge::data
