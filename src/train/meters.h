// Sums of the loss, and of what a task measures beside it, over many batches. They stay on the
// device: reading them is the only sync.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "device/context.h"
#include "dist/process_group.h"
#include "nn/model.h"
#include "train/inputs.h"

namespace kedge::train {

using Metrics = std::map<std::string, double>;

// Used by the thread that trains; add() may be captured, the others may not.
class Meters {
 public:
  // `own`: how many sums the task has of its own.
  explicit Meters(const device::ContextPtr& context, std::int64_t own = 2);
  virtual ~Meters() = default;
  Meters(const Meters&) = delete;
  Meters& operator=(const Meters&) = delete;

  virtual void reset();

  // `loss` is the mean over the targets that count.
  void add(const at::Tensor& loss, const at::Tensor& scores, const Inputs& inputs);

  // Before the first add(): a loss that is added to the task's is measured too, as "aux_loss".
  void expect_aux_loss();

  // The mean of one micro-batch.
  void add_aux_loss(const at::Tensor& loss);

  // A collective: over all ranks, "<prefix>loss" and the task's own. The sums stay.
  Metrics read(const std::string& prefix, dist::ProcessGroup& group);

  // The sums so far, live: a run that is resumed inside an epoch goes on with them.
  nn::NamedTensors state() const;

  // A collective that moves the sums of all ranks to rank 0: what is saved in the middle of an
  // epoch is of all.
  void move_to_first(dist::ProcessGroup& group);

  // A collective, once after the last batch. counts[i][j]: samples of class i predicted as j, over
  // all ranks; empty where none are counted.
  virtual std::vector<std::vector<std::int64_t>> read_confusion(dist::ProcessGroup& /*group*/) {
    return {};
  }

 protected:
  // Of all targets that count.
  struct Means {
    double loss = 0;
    std::vector<double> own = {};  // of the task's own sums
  };

 private:
  // Everything in one kernel, where that can be done; nothing is added otherwise.
  virtual bool add_fused(const at::Tensor& /*loss*/, const at::Tensor& /*scores*/,
                         const at::Tensor& /*targets*/, at::Tensor& /*sums*/) {
    return false;
  }

  // Adds to the task's own sums.
  virtual void add_own(const at::Tensor& /*scores*/, const at::Tensor& /*targets*/,
                       const at::Tensor& /*own*/) {}

  virtual void read_own(const Means& /*means*/, const std::string& /*prefix*/,
                        Metrics& /*metrics*/) const {}

  at::Tensor sums_;  // double: loss * targets, targets, and the task's own
  at::Tensor aux_;   // double: the added losses, and how many; undefined: none is expected
};

}  // namespace kedge::train
