// Brightness, contrast and saturation by a factor, with the pixels that PIL's ImageEnhance (and so
// torchvision's ColorJitter on PIL images) gives. Factor 1 changes nothing.
#pragma once

#include "data/dataset.h"

namespace kedge::data {

void change_brightness(Image& image, double factor);
void change_contrast(Image& image, double factor);
void change_saturation(Image& image, double factor);  // grey images stay as they are

}  // namespace kedge::data
