#include "data/internal/batch_draft.h"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/units.h"

namespace kedge::data {

BatchDraft::BatchDraft(const Dataset& dataset, const std::vector<FieldInfo>& fields,
                       std::int64_t capacity, BufferPool& pool)
    : dataset_(dataset),
      capacity_(capacity),
      pool_(pool),
      batch_(std::make_unique<Batch>()),
      sizes_(fields.size()) {
  for (const FieldInfo& info : fields) {
    batch_->fields.push_back({info, nullptr});
  }
  batch_->indices.reserve(static_cast<std::size_t>(capacity));
  batch_->positions.reserve(static_cast<std::size_t>(capacity));
}

Result<Buffer> BatchDraft::take(std::size_t sample_bytes) const {
  const std::size_t size_bytes = sample_bytes * static_cast<std::size_t>(capacity_);
  Buffer buffer = pool_.take(size_bytes);
  if (buffer == nullptr) {
    return fail(ErrorKind::Unavailable,
                fmt::format("loader.batch_size: there is no memory for {} samples of {} ({})",
                            capacity_, render_bytes({sample_bytes}), render_bytes({size_bytes})),
                "lower loader.batch_size (train.accumulate keeps the effective batch) or "
                "loader.prefetch");
  }
  return buffer;
}

Result<void> BatchDraft::begin(std::size_t which, const FieldValues& values) {
  Field& field = batch_->fields[which];
  if (field.buffer != nullptr) {
    return fail(ErrorKind::Usage,
                fmt::format("{}s of one batch differ in size: {} is {}, {} is {}", field.name,
                            dataset_.name(batch_->indices.front()), fmt::join(field.shape, "x"),
                            dataset_.name(values.index), fmt::join(values.shape, "x")),
                "add `resize H W`, or `resize SIZE` and `center_crop SIZE`, to transform.train "
                "and transform.eval");
  }
  if (!values.shape.empty()) {
    field.shape.assign(values.shape.begin(), values.shape.end());
  }
  sizes_[which] = field.bytes_per_sample();
  field.buffer = KEDGE_TRY(take(sizes_[which]));
  KEDGE_CHECK(fits(which, values), "a field has as many bytes as its shape says");
  return {};
}

Result<void> BatchDraft::append(const Batch& part) {
  batch_->skipped += part.skipped;
  if (part.count == 0) {
    return {};
  }
  for (std::size_t i = 0; i < part.fields.size(); ++i) {
    const Field& field = part.fields[i];
    const std::size_t bytes = field.bytes_per_sample() * static_cast<std::size_t>(part.count);
    KEDGE_TRY(put(i, {.index = part.indices.front(),
                      .bytes = {field.buffer.get(), bytes},
                      .shape = field.shape,
                      .samples = part.count}));
  }
  batch_->indices.insert(batch_->indices.end(), part.indices.begin(), part.indices.end());
  batch_->positions.insert(batch_->positions.end(), part.positions.begin(), part.positions.end());
  batch_->count += part.count;
  return {};
}

std::unique_ptr<Batch> BatchDraft::finish(std::int64_t global_count) {
  batch_->global_count = global_count;
  return std::move(batch_);
}

}  // namespace kedge::data
