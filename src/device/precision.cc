#include "device/precision.h"

#include <ATen/autocast_mode.h>

namespace kedge::device {

std::optional<c10::ScalarType> autocast_type(config::Precision precision) {
  switch (precision) {
    case config::Precision::Bf16:
      return c10::kBFloat16;
    case config::Precision::Fp16:
      return c10::kHalf;
    default:
      return std::nullopt;
  }
}

c10::ScalarType input_type(config::Precision precision) {
  switch (precision) {
    case config::Precision::Bf16Pure:
      return c10::kBFloat16;
    case config::Precision::Fp64:
      return c10::kDouble;
    default:
      return c10::kFloat;
  }
}

Autocast::Autocast(c10::Device device, std::optional<c10::ScalarType> type)
    : device_(device.type()), is_on_(type.has_value()) {
  if (is_on_) {
    at::autocast::set_autocast_enabled(device_, true);
    at::autocast::set_autocast_dtype(device_, *type);
    at::autocast::increment_nesting();
  }
}

Autocast::~Autocast() {
  if (is_on_) {
    // The cache of converted weights is only valid until the optimizer changes them.
    if (at::autocast::decrement_nesting() == 0) {
      at::autocast::clear_cache();
    }
    at::autocast::set_autocast_enabled(device_, false);
  }
}

}  // namespace kedge::device
