#include "device/precision.h"

#include <ATen/autocast_mode.h>

namespace kedge::device {

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

Autocast::Autocast(const Context& context)
    : device_(context.device.type()),
      is_on_(context.precision == config::Precision::Bf16 ||
             context.precision == config::Precision::Fp16) {
  if (is_on_) {
    const bool is_bf16 = context.precision == config::Precision::Bf16;
    at::autocast::set_autocast_enabled(device_, true);
    at::autocast::set_autocast_dtype(device_, is_bf16 ? c10::kBFloat16 : c10::kHalf);
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
