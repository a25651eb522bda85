// A Loader turns a Dataset into batches, in an order that is a pure function of (seed, epoch,
// position), with worker threads that work ahead. Batches come out in order, whatever the threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "data/dataset.h"
#include "data/field.h"
#include "data/pipeline.h"

namespace kedge::data {

// Memory for a batch. The trainer passes page-locked memory here when there is a GPU.
using Allocate = std::function<Buffer(std::size_t size_bytes)>;

Buffer allocate_plain(std::size_t size_bytes);

struct Batch {
  std::int64_t count = 0;
  std::vector<Field> fields = {};            // those of the data set's samples
  std::vector<std::int64_t> indices = {};    // which samples of the data set these are
  std::vector<std::int64_t> positions = {};  // and where they stand in the epoch's order
  std::int64_t global_count = 0;  // samples of this batch on all ranks, skipped ones included
  std::int64_t skipped = 0;       // samples left out because they could not be decoded

  // Null when the samples have no such field.
  const Field* find(std::string_view name) const { return find_field(fields, name); }
};

struct LoaderOptions {
  std::int64_t batch_size = 64;  // of one rank
  std::int64_t workers = 0;      // 0: batches are made in next()
  std::int64_t prefetch = 4;
  bool shuffle = false;
  bool drop_last = false;
  bool skip_bad = false;  // data.on_error: skip
  std::uint64_t seed = 0;
  // The pixels are elsewhere already, after the pipeline's fixed steps, in this size: the field
  // "image" holds placements. The pipeline must be able to place.
  std::optional<ImageShape> placed = {};
  std::int64_t rank = 0;  // each takes its part of the global batch
  std::int64_t ranks = 1;
  // Samples of one batch of all ranks together; 0: batch_size * ranks. Where the ranks do not
  // divide it, batch_size is the largest share.
  std::int64_t global_batch = 0;
  Allocate allocate = allocate_plain;
  JpegHelper* jpeg = nullptr;  // decodes with libjpeg; null: libjpeg alone. Outlives the loader
};

// Its methods are called by one thread; its workers end with it, after the batch they are at.
class Loader {
 public:
  // `dataset` and `pipeline` must outlive the loader.
  Loader(const Dataset& dataset, const Pipeline& pipeline, LoaderOptions options);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  std::int64_t batches_per_epoch() const;

  // Begins `epoch` at batch `first_batch` (a resumed run starts inside an epoch, at no cost).
  // `first_position` is where that batch begins in the epoch's order, where batches before it had
  // another size; -1: they had not.
  void start_epoch(std::int64_t epoch, std::int64_t first_batch = 0,
                   std::int64_t first_position = -1);

  // The next batch, or null at the end of the epoch. A batch that drop_last leaves none of is a
  // Usage error; an error in one batch does not end the epoch.
  Result<std::unique_ptr<Batch>> next();

  // Seconds that next() spent waiting since the last start_epoch: input-bound training shows here.
  double wait_s() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kedge::data
