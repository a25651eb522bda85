// Makes one batch: which samples, and their fields side by side in Buffers. A pure function of
// (epoch, batch number), safe from many threads, each with its own Sample to work in. Several
// threads may make parts of a batch, which are joined.
#pragma once

#include <cstdint>
#include <memory>

#include "core/random.h"
#include "core/result.h"
#include "data/dataset.h"
#include "data/internal/batch_draft.h"
#include "data/internal/buffer_pool.h"
#include "data/internal/sample_filler.h"
#include "data/loader.h"
#include "data/pipeline.h"

namespace kedge::data {

// Where an epoch begins: its batch `batch` at `position` of the order.
struct EpochStart {
  std::int64_t batch = 0;
  std::int64_t position = 0;
};

struct BatchPlace {
  std::int64_t epoch = 0;
  std::int64_t number = 0;
  EpochStart start = {};
  std::int64_t part = 0;  // of BatchMaker::parts()
};

using MadeBatch = Result<std::unique_ptr<Batch>>;

class BatchMaker {
 public:
  BatchMaker(const Dataset& dataset, const Pipeline& pipeline, LoaderOptions options);

  const LoaderOptions& options() const { return options_; }

  std::int64_t global_batch() const;

  std::int64_t batches_per_epoch(EpochStart start) const;

  // Usage when the options and the data set give no batch at all.
  Result<void> check() const;

  // Into how many parts a batch is worth splitting: where samples are slow to read, as many as
  // there are workers.
  std::int64_t parts() const { return parts_; }

  MadeBatch make(const BatchPlace& place, Sample& scratch) const;

  // All parts of a batch, in their order. The error is that of the first that has one.
  MadeBatch join(std::vector<MadeBatch> parts) const;

 private:
  struct Span {
    std::int64_t first;
    std::int64_t last;  // one past
    std::int64_t global_count;
  };

  // The positions of the epoch that this rank takes of a global batch, in this part.
  Span positions(const BatchPlace& place) const;

  Visit visit_of(std::int64_t epoch, std::int64_t position, std::int64_t index) const;

  // The most samples that a batch can have.
  std::int64_t capacity() const;

  BatchDraft draft(std::int64_t capacity) const {
    return {dataset_, filler_->fields(), capacity, *pool_};
  }

  const Dataset& dataset_;
  LoaderOptions options_;
  std::unique_ptr<SampleFiller> filler_;
  std::int64_t parts_;
  std::shared_ptr<BufferPool> pool_;  // shared: batches may outlive the loader
};

}  // namespace kedge::data
