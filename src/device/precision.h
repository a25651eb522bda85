// Autocast for the lifetime of an object: inside, matrix products run in the context's low
// precision, where it is one that needs autocast.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include "config/train_config.h"
#include "device/context.h"

namespace kedge::device {

// The type of images where they go into the model; Auto must have been resolved.
c10::ScalarType input_type(config::Precision precision);

// For the thread that makes it, which must destroy it, innermost first.
class Autocast {
 public:
  explicit Autocast(const Context& context);
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  c10::DeviceType device_;
  bool is_on_;
};

}  // namespace kedge::device
