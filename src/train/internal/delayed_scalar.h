// Reads a number from the device without making the host wait: the copy is started at one log
// point and read at the next, when it is long done. On the CPU it is there at once.
#pragma once

#include <cstdint>
#include <optional>

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>

namespace kedge::train {

class DelayedScalar {
 public:
  struct Reading {
    std::int64_t step = 0;
    double value = 0;
  };

  // One reading at a time: take() the last one first.
  void start(const at::Tensor& scalar, std::int64_t step);

  std::optional<Reading> take();

 private:
  at::Tensor host_;
  std::optional<c10::Event> done_;
  std::optional<std::int64_t> step_;
};

}  // namespace kedge::train
