#include "data/internal/batch_maker.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/random.h"

namespace kedge::data {
namespace {

// Samples below which handing a part to another thread costs more than it gains.
constexpr std::int64_t kFewest = 4;

// Samples that differ in size are files, which must be decoded.
std::int64_t parts_of(const std::vector<FieldInfo>& fields, const LoaderOptions& options) {
  const bool is_decoded = std::ranges::any_of(
      fields, [](const FieldInfo& field) { return std::ranges::count(field.shape, 0) > 0; });
  return is_decoded ? std::clamp(options.batch_size / kFewest, std::int64_t{1},
                                 std::max<std::int64_t>(1, options.workers))
                    : 1;
}

}  // namespace

BatchMaker::BatchMaker(const Dataset& dataset, const Pipeline& pipeline, LoaderOptions options)
    : dataset_(dataset),
      options_(std::move(options)),
      filler_(make_sample_filler(dataset, pipeline, options_.placed)),
      parts_(parts_of(filler_->fields(), options_)),
      pool_(std::make_shared<BufferPool>(options_.allocate)) {
  KEDGE_CHECK(options_.batch_size > 0 && options_.ranks > 0, "batches are not empty");
  KEDGE_CHECK(options_.batch_size * options_.ranks >= global_batch(), "the shares make the batch");
  KEDGE_CHECK(options_.rank >= 0 && options_.rank < options_.ranks, "a rank is one of the ranks");
}

std::int64_t BatchMaker::global_batch() const {
  return options_.global_batch > 0 ? options_.global_batch : options_.batch_size * options_.ranks;
}

std::int64_t BatchMaker::capacity() const {
  return std::min(options_.batch_size, dataset_.size());
}

std::int64_t BatchMaker::batches_per_epoch(EpochStart start) const {
  const std::int64_t left = std::max<std::int64_t>(0, dataset_.size() - start.position);
  const bool has_short = !options_.drop_last && left % global_batch() != 0;
  return start.batch + left / global_batch() + (has_short ? 1 : 0);
}

Result<void> BatchMaker::check() const {
  if (options_.drop_last && dataset_.size() > 0 && batches_per_epoch({}) == 0) {
    return fail(ErrorKind::Usage,
                fmt::format("a batch of {} on {} rank(s) is larger than the {} samples, and "
                            "loader.drop_last leaves out the only batch",
                            global_batch(), options_.ranks, dataset_.size()),
                "choose a smaller loader.batch_size or set loader.drop_last: false");
  }
  return {};
}

BatchMaker::Span BatchMaker::positions(const BatchPlace& place) const {
  const std::int64_t ranks = options_.ranks;
  const std::int64_t global = global_batch();
  const std::int64_t first = place.start.position + (place.number - place.start.batch) * global;
  // A short last batch is shared out evenly, so that no rank works much longer than another.
  const std::int64_t count = std::min(global, dataset_.size() - first);
  const std::int64_t own_first = first + count * options_.rank / ranks;
  const std::int64_t own = first + count * (options_.rank + 1) / ranks - own_first;
  return {own_first + own * place.part / parts_, own_first + own * (place.part + 1) / parts_,
          count};
}

// Randomness is keyed by the position in the whole epoch: threads and ranks change nothing.
Visit BatchMaker::visit_of(std::int64_t epoch, std::int64_t position, std::int64_t index) const {
  return {.random = Random({options_.seed, static_cast<std::uint64_t>(epoch),
                            static_cast<std::uint64_t>(position)}),
          .epoch = epoch,
          .sample_key = mix_key({options_.seed, static_cast<std::uint64_t>(index)})};
}

MadeBatch BatchMaker::make(const BatchPlace& place, Sample& scratch) const {
  const std::int64_t epoch = place.epoch;
  const OrderKey key{.seed = options_.seed, .epoch = epoch, .shuffle = options_.shuffle};
  const Span span = positions(place);
  BatchDraft batch = draft((capacity() + parts_ - 1) / parts_);
  for (std::int64_t position = span.first; position < span.last; ++position) {
    const std::int64_t index = dataset_.index_at(key, position);
    auto filled = filler_->fill(index, visit_of(epoch, position, index), scratch, batch);
    if (filled) {
      batch.add(index, position);
    } else if (options_.skip_bad && filled.error().kind == ErrorKind::Corrupt) {
      batch.skip();
    } else {
      return std::unexpected(std::move(filled).error());
    }
  }
  return batch.finish(span.global_count);
}

MadeBatch BatchMaker::join(std::vector<MadeBatch> parts) const {
  if (parts.size() == 1) {
    return std::move(parts.front());
  }
  BatchDraft batch = draft(capacity());
  std::int64_t global_count = 0;
  for (MadeBatch& made : parts) {
    const std::unique_ptr<Batch> part = KEDGE_TRY(std::move(made));
    KEDGE_TRY(batch.append(*part));
    global_count = part->global_count;
  }
  return batch.finish(global_count);
}

}  // namespace kedge::data
