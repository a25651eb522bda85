// A batch in the making: one Buffer for each field, which is taken when the first value comes,
// since the size of images is known only then. Used by one thread at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "core/result.h"
#include "data/dataset.h"
#include "data/field.h"
#include "data/internal/buffer_pool.h"
#include "data/loader.h"

namespace kedge::data {

// What a field has in one sample, or in several that follow each other.
struct FieldValues {
  std::int64_t index = 0;  // of the first of these samples in the data set
  std::span<const std::uint8_t> bytes;
  std::span<const std::int64_t> shape = {};  // empty: as the field's info says
  std::int64_t samples = 1;
};

class BatchDraft {
 public:
  // Has room for `capacity` samples. The data set, which names samples in messages, and the pool
  // must outlive the draft.
  BatchDraft(const Dataset& dataset, const std::vector<FieldInfo>& fields, std::int64_t capacity,
             BufferPool& pool);

  // Copies a field of the sample that is being added. Usage when its shape is not that of the
  // samples before it, Unavailable when there is no memory.
  Result<void> put(std::size_t field, const FieldValues& values) {
    if (!fits(field, values)) {
      KEDGE_TRY(begin(field, values));
    }
    const std::size_t at = static_cast<std::size_t>(batch_->count) * sizes_[field];
    std::memcpy(batch_->fields[field].buffer.get() + at, values.bytes.data(), values.bytes.size());
    return {};
  }

  // The sample has all its fields, and stands at `position` of the epoch's order.
  void add(std::int64_t index, std::int64_t position) {
    batch_->indices.push_back(index);
    batch_->positions.push_back(position);
    ++batch_->count;
  }

  // The sample could not be read.
  void skip() { ++batch_->skipped; }

  // All samples of another draft's batch, which has the same fields.
  Result<void> append(const Batch& part);

  // The batch; the draft is empty then.
  std::unique_ptr<Batch> finish(std::int64_t global_count);

 private:
  // Whether the field has memory for the values, and their shape.
  bool fits(std::size_t field, const FieldValues& values) const {
    return values.bytes.size() == static_cast<std::size_t>(values.samples) * sizes_[field] &&
           (values.shape.empty() || std::ranges::equal(batch_->fields[field].shape, values.shape));
  }

  // Takes memory for the first values of a field; others do not fit those before them.
  Result<void> begin(std::size_t field, const FieldValues& values);
  Result<Buffer> take(std::size_t sample_bytes) const;

  const Dataset& dataset_;
  std::int64_t capacity_;
  BufferPool& pool_;
  std::unique_ptr<Batch> batch_;
  std::vector<std::size_t> sizes_;  // bytes of a sample, by field, once it has a buffer
};

}  // namespace kedge::data
