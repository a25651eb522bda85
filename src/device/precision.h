// Autocast for the lifetime of an object: inside, matrix products run in the low precision.
#pragma once

#include <optional>

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include "config/train_config.h"

namespace kedge::device {

// The type that autocast uses, or nothing when the precision needs none.
std::optional<c10::ScalarType> autocast_type(config::Precision precision);

// The type of images where they go into the model.
c10::ScalarType input_type(config::Precision precision);

class Autocast {
 public:
  Autocast(c10::Device device, std::optional<c10::ScalarType> type);
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  c10::DeviceType device_;
  bool is_on_;
};

}  // namespace kedge::device
