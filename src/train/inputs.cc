#include "train/inputs.h"

#include <cstdint>
#include <cstring>

#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/types.h>

#include "train/internal/resident.h"

namespace kedge::train {
namespace {

// Bytes of a batch from which copying beside the computation is worth a second piece of memory, and
// a second captured of the step.
constexpr std::int64_t kLarge = 256 * 1024;

// A tensor over a batch's buffer that keeps the buffer alive.
at::Tensor over(const data::Buffer& buffer, at::IntArrayRef shape, at::ScalarType type) {
  return torch::from_blob(buffer.get(), shape, [keep = buffer](void*) {}, type);
}

std::int64_t bytes_per_sample(const data::Batch& batch) {
  if (batch.context > 0) {
    return (batch.context + 1) * static_cast<std::int64_t>(sizeof(std::int32_t));
  }
  if (batch.is_placed) {
    return sizeof(data::Placement);
  }
  return batch.height * batch.width * batch.channels;
}

at::Tensor per_channel(const std::vector<double>& values, const InputMaker::Options& options) {
  return torch::tensor(values, torch::kFloat64)
      .to(options.device, at::kFloat)
      .view({1, static_cast<std::int64_t>(values.size()), 1, 1});
}

}  // namespace

InputMaker::InputMaker(const Normalise& normalise, Options options) : options_(options) {
  if (normalise.mean.empty()) {
    return;
  }
  std::vector<double> scale;
  std::vector<double> shift;
  for (std::size_t c = 0; c < normalise.mean.size(); ++c) {
    scale.push_back(1 / (255 * normalise.std[c]));
    shift.push_back(-normalise.mean[c] / normalise.std[c]);
  }
  scale_ = per_channel(scale, options_);
  shift_ = per_channel(shift, options_);
}

void InputMaker::stage(const data::Batch& batch) {
  while (!in_flight_.empty() && in_flight_.front().done.query()) {
    in_flight_.pop_front();
  }
  shape_ = {.count = batch.count,
            .samples = nullptr,
            .is_placed = batch.is_placed,
            .height = batch.height,
            .width = batch.width,
            .channels = batch.channels,
            .context = batch.context,
            .labels = nullptr,
            .indices = {},
            .positions = {}};
  const at::Tensor samples =
      over(batch.samples, {batch.count * bytes_per_sample(batch)}, at::kByte);
  const at::Tensor labels =
      batch.context == 0 ? over(batch.labels, {batch.count}, at::kLong) : at::Tensor();
  if (options_.device.is_cuda()) {
    stage_on_device(samples, labels);
  } else {
    samples_ = samples;
    labels_ = labels;
  }
}

Inputs InputMaker::make() {
  if (shape_.context == 0) {
    return {images(), labels_};
  }
  const at::Tensor window_NT =
      samples_.view(at::kInt).view({shape_.count, shape_.context + 1}).to(at::kLong);
  return {window_NT.slice(1, 0, shape_.context), window_NT.slice(1, 1, shape_.context + 1)};
}

// A slot is written only when the step that read it last is done: with two slots that is the step
// before the one that may be computing now.
void InputMaker::stage_on_device(const at::Tensor& samples, const at::Tensor& labels) {
  const c10::impl::VirtualGuardImpl device(options_.device.type());
  const c10::Stream compute = device.getStream(options_.device);
  const bool is_aside = samples.numel() >= kLarge;
  if (is_aside && !copies_) {
    copies_ = device.getStreamFromGlobalPool(options_.device, /*isHighPriority=*/false);
  }
  const auto note_reads = [&](Slot& slot) {
    if (!slot.is_read) {
      slot.is_read.emplace(options_.device.type());
    }
    slot.is_read->record(compute);
  };
  note_reads(slots_[slot_]);
  slot_ = is_aside ? 1 - slot_ : 0;
  Slot& slot = slots_[slot_];
  if (!slot.samples.defined() || slot.samples.numel() < samples.numel()) {
    slot.samples = torch::empty_like(samples, torch::TensorOptions(options_.device));
    slot.labels = labels.defined()
                      ? torch::empty_like(labels, torch::TensorOptions(options_.device))
                      : at::Tensor();
    note_reads(slot);  // the allocator's memory may have had another use a moment ago
  }
  const c10::OptionalStreamGuard guard(is_aside ? copies_ : std::nullopt);
  if (is_aside && slot.is_read) {
    slot.is_read->block(*copies_);
  }
  samples_ = send(samples, slot.samples);
  labels_ = labels.defined() ? send(labels, slot.labels) : labels;
  if (is_aside) {
    in_flight_.back().done.block(compute);
  }
}

at::Tensor InputMaker::send(const at::Tensor& host, const at::Tensor& memory) {
  at::Tensor on_device = memory.narrow(0, 0, host.numel());
  on_device.copy_(host, /*non_blocking=*/true);
  c10::Event done(options_.device.type());
  done.record(c10::impl::VirtualGuardImpl(options_.device.type()).getStream(options_.device));
  in_flight_.push_back({host, std::move(done)});
  return on_device;
}

at::Tensor InputMaker::images() {
  if (shape_.is_placed && options_.place != nullptr) {
    at::Tensor x =
        torch::empty({shape_.count, shape_.channels, shape_.height, shape_.width},
                     torch::TensorOptions(options_.type)
                         .device(options_.device)
                         .memory_format(options_.channels_last ? at::MemoryFormat::ChannelsLast
                                                               : at::MemoryFormat::Contiguous));
    (*options_.place)(options_.resident->pixels_NHWC, samples_, {scale_, shift_}, x);
    return x;
  }
  const at::Tensor bytes = shape_.is_placed ? render_placed() : samples_;
  // A batch is NHWC in memory, so the permuted view already is channels-last.
  at::Tensor x = bytes.view({shape_.count, shape_.height, shape_.width, shape_.channels})
                     .permute({0, 3, 1, 2});
  x = options_.channels_last ? x.to(at::kFloat) : x.to(at::kFloat).contiguous();
  x.mul_(scale_).add_(shift_);
  return x.to(options_.type);
}

at::Tensor InputMaker::render_placed() const {
  const std::int64_t out_bytes = shape_.height * shape_.width * shape_.channels;
  const at::Tensor out = torch::empty({shape_.count * out_bytes}, torch::kByte);
  const auto* placements = static_cast<const data::Placement*>(samples_.const_data_ptr());
  for (std::int64_t i = 0; i < shape_.count; ++i) {
    const at::Tensor source = options_.resident->pixels_NHWC[placements[i].index];
    data::render(placements[i], options_.resident->shape, source.const_data_ptr<std::uint8_t>(),
                 out.data_ptr<std::uint8_t>() + i * out_bytes);
  }
  return out;
}

std::vector<std::uint8_t> InputMaker::pixels_of(const data::Batch& batch, std::int64_t i) const {
  std::vector<std::uint8_t> pixels(
      static_cast<std::size_t>(batch.height * batch.width * batch.channels));
  if (!batch.is_placed) {
    std::memcpy(pixels.data(), batch.samples.get() + static_cast<std::size_t>(i) * pixels.size(),
                pixels.size());
    return pixels;
  }
  const data::Placement& placement =
      reinterpret_cast<const data::Placement*>(batch.samples.get())[i];
  const at::Tensor source = options_.resident->pixels_NHWC[placement.index].cpu();
  data::render(placement, options_.resident->shape, source.const_data_ptr<std::uint8_t>(),
               pixels.data());
  return pixels;
}

data::Allocate batch_allocator(at::Device device, bool pinned) {
  if (!device.is_cuda() || !pinned) {
    return data::allocate_plain;
  }
  return [](std::size_t size_bytes) {
    at::Tensor memory = torch::empty({static_cast<std::int64_t>(size_bytes)},
                                     torch::TensorOptions(torch::kByte).pinned_memory(true));
    auto* bytes = memory.data_ptr<std::uint8_t>();
    return data::Buffer(bytes, [keep = std::move(memory)](std::uint8_t*) {});
  };
}

}  // namespace kedge::train
