#include "train/inputs.h"

#include <algorithm>
#include <cstdint>

#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/types.h>

#include "data/placement.h"
#include "nn/loss.h"
#include "train/internal/resident.h"
#include "train/preparation.h"
#include "train/stored_scores.h"

namespace kedge::train {
namespace {

// Bytes of a batch from which copying beside the computation is worth a second piece of memory, and
// a second capture of the step.
constexpr std::int64_t kLarge = std::int64_t{256} * 1024;

// A tensor over a field's buffer that keeps the buffer alive.
at::Tensor bytes_over(const data::Field& field, std::int64_t count) {
  const auto size = count * static_cast<std::int64_t>(field.bytes_per_sample());
  return torch::from_blob(field.buffer.get(), {size}, [keep = field.buffer](void*) {}, at::kByte);
}

// In the order of data::FieldType; placements are bytes.
constexpr std::array kTensorTypes = {at::kByte, at::kInt, at::kLong, at::kFloat, at::kByte};

at::Tensor per_channel(const std::vector<double>& values, const InputMaker::Options& options) {
  return torch::tensor(values, torch::kFloat64)
      .to(options.device, at::kFloat)
      .view({1, static_cast<std::int64_t>(values.size()), 1, 1});
}

}  // namespace

InputMaker::InputMaker(const Preparation& preparation, Options options)
    : options_(options), task_(preparation.task) {
  const Normalise& normalise = preparation.normalise;
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
  count_ = batch.count;
  staged_.clear();
  for (const data::Field& field : batch.fields) {
    const data::FieldInfo& info = field;
    staged_.push_back({info, bytes_over(field, batch.count)});
  }
  if (options_.device.is_cuda()) {
    stage_on_device();
  }
}

at::Tensor InputMaker::staged(std::string_view name) const {
  const StagedField* field = data::find_field(staged_, name);
  if (field == nullptr) {
    return {};
  }
  const bool is_placed = field->type == data::FieldType::Placement;
  std::vector<std::int64_t> shape = is_placed ? std::vector<std::int64_t>{-1} : field->shape;
  shape.insert(shape.begin(), count_);
  return field->bytes.view(kTensorTypes.at(static_cast<std::size_t>(field->type))).view(shape);
}

Inputs InputMaker::make() {
  Inputs inputs = task_->make_inputs(*this);
  if (const at::Tensor mask = staged(data::kLossMask); mask.defined()) {
    const at::Tensor is_out = mask.eq(0);
    inputs.counted = is_out.logical_not().sum().to(at::kDouble);
    inputs.y = inputs.y.masked_fill(is_out, nn::kIgnoredTarget);
  }
  inputs.teacher_scores = staged(kTeacherScores);
  inputs.teacher_ids = staged(kTeacherIds);
  return inputs;
}

// A slot is written only when the step that read it last is done: with two slots that is the step
// before the one that may be computing now.
void InputMaker::stage_on_device() {
  const c10::impl::VirtualGuardImpl device(options_.device.type());
  const c10::Stream compute = device.getStream(options_.device);
  const bool is_aside = std::ranges::any_of(
      staged_, [](const StagedField& field) { return field.bytes.numel() >= kLarge; });
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
  if (!has_room(slot.fields)) {
    slot.fields = make_room();
    note_reads(slot);  // the allocator's memory may have had another use a moment ago
  }
  const c10::OptionalStreamGuard guard(is_aside ? copies_ : std::nullopt);
  if (is_aside && slot.is_read) {
    slot.is_read->block(*copies_);
  }
  for (std::size_t i = 0; i < staged_.size(); ++i) {
    staged_[i].bytes = send(staged_[i].bytes, slot.fields[i]);
  }
  if (is_aside) {
    in_flight_.back().done.block(compute);
  }
}

bool InputMaker::has_room(const std::vector<at::Tensor>& memory) const {
  return std::ranges::equal(memory, staged_, [](const at::Tensor& has, const StagedField& wants) {
    return has.numel() >= wants.bytes.numel();
  });
}

// All fields get new memory, so that staged_at() changes whichever was too small.
std::vector<at::Tensor> InputMaker::make_room() const {
  std::vector<at::Tensor> memory;
  memory.reserve(staged_.size());
  for (const StagedField& field : staged_) {
    memory.push_back(torch::empty_like(field.bytes, torch::TensorOptions(options_.device)));
  }
  return memory;
}

at::Tensor InputMaker::send(const at::Tensor& host, const at::Tensor& memory) {
  at::Tensor on_device = memory.narrow(0, 0, host.numel());
  on_device.copy_(host, /*non_blocking=*/true);
  c10::Event done(options_.device.type());
  done.record(c10::impl::VirtualGuardImpl(options_.device.type()).getStream(options_.device));
  in_flight_.push_back({host, std::move(done)});
  return on_device;
}

at::Tensor InputMaker::images() const {
  const StagedField& image = *data::find_field(staged_, data::kImage);
  const bool is_placed = image.type == data::FieldType::Placement;
  const std::int64_t height = image.shape[0];
  const std::int64_t width = image.shape[1];
  const std::int64_t channels = image.shape[2];
  if (is_placed && options_.place != nullptr) {
    at::Tensor x =
        torch::empty({count_, channels, height, width},
                     torch::TensorOptions(options_.type)
                         .device(options_.device)
                         .memory_format(options_.channels_last ? at::MemoryFormat::ChannelsLast
                                                               : at::MemoryFormat::Contiguous));
    (*options_.place)(options_.resident->pixels_NHWC, image.bytes, {scale_, shift_}, x);
    return x;
  }
  const at::Tensor bytes = is_placed ? render_placed(image) : image.bytes;
  // A batch is NHWC in memory, so the permuted view already is channels-last.
  at::Tensor x = bytes.view({count_, height, width, channels}).permute({0, 3, 1, 2});
  x = options_.channels_last ? x.to(at::kFloat) : x.to(at::kFloat).contiguous();
  x.mul_(scale_).add_(shift_);
  return x.to(options_.type);
}

at::Tensor InputMaker::render_placed(const StagedField& image) const {
  const std::int64_t out_bytes = image.shape[0] * image.shape[1] * image.shape[2];
  const at::Tensor out = torch::empty({count_ * out_bytes}, torch::kByte);
  const auto* placements = static_cast<const data::Placement*>(image.bytes.const_data_ptr());
  for (std::int64_t i = 0; i < count_; ++i) {
    const at::Tensor source = options_.resident->pixels_NHWC[placements[i].index];
    data::render(placements[i], options_.resident->shape, source.const_data_ptr<std::uint8_t>(),
                 out.data_ptr<std::uint8_t>() + i * out_bytes);
  }
  return out;
}

data::Image InputMaker::image_of(const data::Batch& batch, std::int64_t i) const {
  const data::Field& field = *batch.find(data::kImage);
  data::Image image{
      .height = field.shape[0], .width = field.shape[1], .channels = field.shape[2], .pixels = {}};
  const auto size = static_cast<std::size_t>(image.height * image.width * image.channels);
  if (field.type != data::FieldType::Placement) {
    const std::uint8_t* first = field.buffer.get() + static_cast<std::size_t>(i) * size;
    image.pixels.assign(first, first + size);
    return image;
  }
  image.pixels.resize(size);
  const data::Placement& placement = field.as<data::Placement>()[i];
  const at::Tensor source = options_.resident->pixels_NHWC[placement.index].cpu();
  data::render(placement, options_.resident->shape, source.const_data_ptr<std::uint8_t>(),
               image.pixels.data());
  return image;
}

std::int64_t loss_weight(const data::Batch& batch) {
  const data::Field* mask = batch.find(data::kLossMask);
  if (mask == nullptr || batch.count == 0) {
    return batch.count;
  }
  const auto size = batch.count * static_cast<std::int64_t>(mask->bytes_per_sample());
  return size - std::count(mask->as<std::uint8_t>(), mask->as<std::uint8_t>() + size, 0);
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
