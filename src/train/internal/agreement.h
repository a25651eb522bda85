// What the ranks must decide together: whether to stop and whether to save. Clocks and signals
// differ between them, and a rank that stops alone leaves the others waiting for ever.
#pragma once

#include <memory>

#include <ATen/core/Tensor.h>

#include "dist/process_group.h"

namespace kedge::train {

class Agreement {
 public:
  struct Wish {
    bool stop = false;
    bool save = false;
    bool keep = false;  // in memory
  };

  // Talks over connections of its own, so that it may be under way during a backward pass.
  explicit Agreement(dist::ProcessGroup& group);

  // All ranks stop when one wishes to; they save and keep when rank 0 does. Between the two calls
  // the answers travel.
  void start(Wish own);
  Wish take();

  // Both at once.
  Wish agree(Wish own);

 private:
  std::unique_ptr<dist::ProcessGroup> group_;
  at::Tensor wishes_;
  std::unique_ptr<dist::Work> work_;
};

}  // namespace kedge::train
