#include "train/internal/resident.h"

#include <atomic>
#include <cstring>
#include <mutex>

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <torch/types.h>

namespace kedge::train {
namespace {

Result<data::ImageShape> read_into(const data::Dataset& dataset, const data::Pipeline& pipeline,
                                   std::int64_t index, data::Sample& scratch) {
  KEDGE_TRY(dataset.read(index, scratch));
  pipeline.apply_fixed(scratch.image);
  return data::ImageShape{.height = scratch.image.height,
                          .width = scratch.image.width,
                          .channels = scratch.image.channels};
}

std::unexpected<Error> other_size(const data::Dataset& dataset, std::int64_t index,
                                  const data::ImageShape& got, const data::ImageShape& first) {
  return fail(ErrorKind::Usage,
              fmt::format("images differ in size: {} is {}x{}x{}, {} is {}x{}x{}",
                          dataset.name(index), got.height, got.width, got.channels, dataset.name(0),
                          first.height, first.width, first.channels),
              "add `resize H W`, or `resize SIZE` and `center_crop SIZE`, to transform.train and "
              "transform.eval");
}

}  // namespace

std::optional<std::string> why_not_resident(const data::Dataset& dataset,
                                            const data::Pipeline& pipeline) {
  if (dataset.info().fields != data::image_fields(dataset.info().image_shape())) {
    return "it is not made of images and labels";
  }
  if (!pipeline.can_place()) {
    return "its transforms do more than the device can";
  }
  return std::nullopt;
}

Result<Resident> make_resident(const data::Dataset& dataset, const data::Pipeline& pipeline,
                               at::Device device) {
  data::Sample first;
  const data::ImageShape shape = KEDGE_TRY(read_into(dataset, pipeline, 0, first));
  const at::Tensor pixels =
      torch::empty({dataset.size(), shape.height, shape.width, shape.channels}, torch::kByte);
  const auto image_bytes = static_cast<std::size_t>(shape.height * shape.width * shape.channels);
  std::mutex mutex;
  std::optional<Error> error;
  std::atomic<bool> has_failed = false;
  at::parallel_for(0, dataset.size(), 64, [&](std::int64_t begin, std::int64_t end) {
    data::Sample scratch;
    for (std::int64_t i = begin; i < end && !has_failed; ++i) {
      auto got = read_into(dataset, pipeline, i, scratch);
      if (got && *got != shape) {
        got = other_size(dataset, i, *got, shape);
      }
      if (!got) {
        const std::lock_guard lock(mutex);
        error = std::move(got).error();
        has_failed = true;
        return;
      }
      std::memcpy(pixels.data_ptr<std::uint8_t>() + static_cast<std::size_t>(i) * image_bytes,
                  scratch.image.pixels.data(), image_bytes);
    }
  });
  if (error) {
    return std::unexpected(std::move(*error));
  }
  return Resident{.pixels_NHWC = pixels.to(device), .shape = shape};
}

}  // namespace kedge::train
