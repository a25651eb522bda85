#include "train/inputs.h"

#include <cstdint>

#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/types.h>

namespace kedge::train {
namespace {

// A tensor over a batch's buffer that keeps the buffer alive.
at::Tensor over(const data::Buffer& buffer, at::IntArrayRef shape, at::ScalarType type) {
  return torch::from_blob(buffer.get(), shape, [keep = buffer](void*) {}, type);
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

Inputs InputMaker::operator()(const data::Batch& batch) {
  while (!in_flight_.empty() && in_flight_.front().done.query()) {
    in_flight_.pop_front();
  }
  return batch.context > 0 ? tokens(batch) : images(batch);
}

at::Tensor InputMaker::send(const at::Tensor& host) {
  if (!options_.device.is_cuda()) {
    return host;
  }
  at::Tensor on_device = host.to(options_.device, /*non_blocking=*/true);
  c10::Event done(options_.device.type());
  done.record(c10::impl::VirtualGuardImpl(options_.device.type()).getStream(options_.device));
  in_flight_.push_back({host, std::move(done)});
  return on_device;
}

Inputs InputMaker::images(const data::Batch& batch) {
  // A batch is NHWC in memory, so the permuted view already is channels-last.
  at::Tensor x =
      send(over(batch.samples, {batch.count, batch.height, batch.width, batch.channels}, at::kByte))
          .permute({0, 3, 1, 2});
  x = options_.channels_last ? x.to(at::kFloat) : x.to(at::kFloat).contiguous();
  x.mul_(scale_).add_(shift_);
  return {x.to(options_.type), send(over(batch.labels, {batch.count}, at::kLong))};
}

Inputs InputMaker::tokens(const data::Batch& batch) {
  const at::Tensor window_NT =
      send(over(batch.samples, {batch.count, batch.context + 1}, at::kInt)).to(at::kLong);
  return {window_NT.slice(1, 0, batch.context), window_NT.slice(1, 1, batch.context + 1)};
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
