#include "data/internal/batch_maker.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "core/random.h"
#include "core/units.h"

namespace kedge::data {
namespace {

// Samples below which handing a part to another thread costs more than it gains.
constexpr std::int64_t kFewest = 4;

std::int64_t parts_of(const Dataset& dataset, const LoaderOptions& options) {
  const DatasetInfo& info = dataset.info();
  const bool is_decoded = info.kind == SampleKind::Image && info.height == 0 && !options.placed;
  return is_decoded ? std::clamp(options.batch_size / kFewest, std::int64_t{1},
                                 std::max<std::int64_t>(1, options.workers))
                    : 1;
}

std::size_t image_bytes(const Batch& batch) {
  return static_cast<std::size_t>(batch.height * batch.width * batch.channels);
}

}  // namespace

BatchMaker::BatchMaker(const Dataset& dataset, const Pipeline& pipeline, LoaderOptions options)
    : dataset_(dataset),
      pipeline_(pipeline),
      options_(std::move(options)),
      parts_(parts_of(dataset, options_)),
      pool_(std::make_shared<BufferPool>(options_.allocate)) {
  KEDGE_CHECK(options_.batch_size > 0 && options_.ranks > 0, "batches are not empty");
  KEDGE_CHECK(options_.batch_size * options_.ranks >= global_batch(), "the shares make the batch");
  KEDGE_CHECK(options_.rank >= 0 && options_.rank < options_.ranks, "a rank is one of the ranks");
}

std::int64_t BatchMaker::global_batch() const {
  return options_.global_batch > 0 ? options_.global_batch : options_.batch_size * options_.ranks;
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

Result<Buffer> BatchMaker::take(std::size_t sample_bytes, std::int64_t count) const {
  const std::size_t size_bytes = sample_bytes * static_cast<std::size_t>(count);
  Buffer buffer = pool_->take(size_bytes);
  if (buffer == nullptr) {
    return fail(ErrorKind::Unavailable,
                fmt::format("no memory for a batch of {}", render_bytes({size_bytes})),
                "choose a smaller loader.batch_size or loader.prefetch");
  }
  return buffer;
}

Result<void> BatchMaker::check_size(const Batch& batch, const ImageShape& shape,
                                    std::int64_t index) const {
  if (shape == ImageShape{batch.height, batch.width, batch.channels}) {
    return {};
  }
  return fail(
      ErrorKind::Usage,
      fmt::format("images of one batch differ in size: {} is {}x{}x{}, {} is {}x{}x{}",
                  dataset_.name(batch.indices.front()), batch.height, batch.width, batch.channels,
                  dataset_.name(index), shape.height, shape.width, shape.channels),
      "add `resize H W`, or `resize SIZE` and `center_crop SIZE`, to transform.train "
      "and transform.eval");
}

Result<void> BatchMaker::add_image(const Sample& sample, std::int64_t index, Batch& batch) const {
  const Image& image = sample.image;
  const std::size_t size = image.pixels.size();
  if (batch.samples == nullptr) {
    batch.samples = KEDGE_TRY(take(size, most_in_a_part()));
    batch.height = image.height;
    batch.width = image.width;
    batch.channels = image.channels;
  }
  KEDGE_TRY(check_size(batch, {image.height, image.width, image.channels}, index));
  const auto at = static_cast<std::size_t>(batch.count);
  std::memcpy(batch.samples.get() + at * size, image.pixels.data(), size);
  std::memcpy(batch.labels.get() + at * sizeof sample.label, &sample.label, sizeof sample.label);
  return {};
}

// Randomness is keyed by the position in the whole epoch: threads and ranks change nothing.
Visit BatchMaker::visit_of(std::int64_t epoch, std::int64_t position, std::int64_t index) const {
  return {.random = Random({options_.seed, static_cast<std::uint64_t>(epoch),
                            static_cast<std::uint64_t>(position)}),
          .epoch = epoch,
          .sample_key = mix_key({options_.seed, static_cast<std::uint64_t>(index)})};
}

Result<void> BatchMaker::add_placement(std::int64_t index, Visit& visit, Batch& batch) const {
  if (batch.samples == nullptr) {
    batch.samples = KEDGE_TRY(take(sizeof(Placement), options_.batch_size));
    batch.is_placed = true;
  }
  Placement placement{.index = static_cast<std::int32_t>(index),
                      .height = static_cast<std::int32_t>(options_.placed->height),
                      .width = static_cast<std::int32_t>(options_.placed->width)};
  pipeline_.place(placement, visit);
  batch.height = placement.height;
  batch.width = placement.width;
  batch.channels = options_.placed->channels;
  const std::int64_t label = dataset_.label(index);
  const auto at = static_cast<std::size_t>(batch.count);
  std::memcpy(batch.samples.get() + at * sizeof placement, &placement, sizeof placement);
  std::memcpy(batch.labels.get() + at * sizeof label, &label, sizeof label);
  return {};
}

Result<void> BatchMaker::add_tokens(const Sample& sample, Batch& batch) const {
  const std::size_t size = sample.tokens.size() * sizeof(std::int32_t);
  if (batch.samples == nullptr) {
    batch.samples = KEDGE_TRY(take(size, options_.batch_size));
    batch.context = static_cast<std::int64_t>(sample.tokens.size()) - 1;
  }
  std::memcpy(batch.samples.get() + static_cast<std::size_t>(batch.count) * size,
              sample.tokens.data(), size);
  return {};
}

Result<bool> BatchMaker::add_sample(std::int64_t index, Visit visit, Sample& scratch,
                                    Batch& batch) const {
  if (options_.placed) {
    KEDGE_TRY(add_placement(index, visit, batch));
    return true;
  }
  if (auto done = dataset_.read(index, scratch); !done) {
    if (options_.skip_bad && done.error().kind == ErrorKind::Corrupt) {
      return false;
    }
    return std::unexpected(std::move(done).error());
  }
  if (dataset_.info().kind == SampleKind::Image) {
    pipeline_.apply(scratch.image, visit);
    KEDGE_TRY(add_image(scratch, index, batch));
  } else {
    KEDGE_TRY(add_tokens(scratch, batch));
  }
  return true;
}

MadeBatch BatchMaker::make(const BatchPlace& place, Sample& scratch) const {
  auto batch = std::make_unique<Batch>();
  if (dataset_.info().kind == SampleKind::Image) {
    batch->labels = KEDGE_TRY(take(sizeof(std::int64_t), most_in_a_part()));
  }
  const std::int64_t epoch = place.epoch;
  const OrderKey key{.seed = options_.seed, .epoch = epoch, .shuffle = options_.shuffle};
  const Span span = positions(place);
  batch->global_count = span.global_count;
  for (std::int64_t position = span.first; position < span.last; ++position) {
    const std::int64_t index = dataset_.index_at(key, position);
    if (!KEDGE_TRY(add_sample(index, visit_of(epoch, position, index), scratch, *batch))) {
      ++batch->skipped;
      continue;
    }
    batch->indices.push_back(index);
    batch->positions.push_back(position);
    ++batch->count;
  }
  return batch;
}

MadeBatch BatchMaker::join(std::vector<MadeBatch> parts) const {
  if (parts.size() == 1) {
    return std::move(parts.front());
  }
  auto batch = std::make_unique<Batch>();
  batch->labels = KEDGE_TRY(take(sizeof(std::int64_t), options_.batch_size));
  for (MadeBatch& made : parts) {
    const std::unique_ptr<Batch> part = KEDGE_TRY(std::move(made));
    KEDGE_TRY(append(*part, *batch));
  }
  return batch;
}

Result<void> BatchMaker::append(const Batch& part, Batch& batch) const {
  batch.global_count = part.global_count;
  batch.skipped += part.skipped;
  if (part.count == 0) {
    return {};
  }
  const std::size_t size = image_bytes(part);
  if (batch.samples == nullptr) {
    batch.samples = KEDGE_TRY(take(size, options_.batch_size));
    batch.height = part.height;
    batch.width = part.width;
    batch.channels = part.channels;
  }
  KEDGE_TRY(check_size(batch, {part.height, part.width, part.channels}, part.indices.front()));
  const auto at = static_cast<std::size_t>(batch.count);
  const auto count = static_cast<std::size_t>(part.count);
  std::memcpy(batch.samples.get() + at * size, part.samples.get(), count * size);
  std::memcpy(batch.labels.get() + at * sizeof(std::int64_t), part.labels.get(),
              count * sizeof(std::int64_t));
  batch.indices.insert(batch.indices.end(), part.indices.begin(), part.indices.end());
  batch.positions.insert(batch.positions.end(), part.positions.begin(), part.positions.end());
  batch.count += part.count;
  return {};
}

}  // namespace kedge::data
