// Sums of loss and hits over many batches, kept on the device: reading them is the only sync.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "device/context.h"
#include "dist/process_group.h"
#include "nn/model.h"

namespace kedge::train {

using Metrics = std::map<std::string, double>;

class Meters {
 public:
  struct Options {
    device::ContextPtr context = std::make_shared<const device::Context>();
    std::int64_t classes = 0;  // 0: no accuracy (language models, soft targets)
    bool with_confusion = false;
    bool is_language = false;  // perplexity
  };

  explicit Meters(Options options);

  void reset();

  // `loss` is the batch's mean; `scores` [N, classes] and `labels` [N] count hits.
  void add(const at::Tensor& loss, const at::Tensor& scores, const at::Tensor& labels);

  // Over all ranks. "<prefix>loss", "<prefix>accuracy", "<prefix>top5", "<prefix>perplexity".
  Metrics read(const std::string& prefix, dist::ProcessGroup& group);

  // The sums so far, live: a run that is resumed inside an epoch goes on with them.
  nn::NamedTensors state() const { return {{"sums", sums_}}; }

  // Moves the sums of all ranks to rank 0: what is saved in the middle of an epoch is of all.
  void move_to_first(dist::ProcessGroup& group);

  // counts[i][j]: samples of class i predicted as j, over all ranks. Call after read().
  std::vector<std::vector<std::int64_t>> read_confusion() const;

 private:
  bool try_fused(const device::ScoredStep& step);

  Options options_;
  at::Tensor sums_;       // double [4]: loss * samples, samples, top-1 hits, top-5 hits
  at::Tensor confusion_;  // int64 [classes * classes]
};

}  // namespace kedge::train
