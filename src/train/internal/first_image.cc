#include "train/internal/first_image.h"

#include <utility>

#include <fmt/format.h>

namespace kedge::train {
namespace {

Result<void> read_first(const data::Dataset& dataset, bool may_skip, data::Sample& sample) {
  Result<void> read = dataset.read(0, sample);
  for (std::int64_t i = 1; !read && may_skip && i < dataset.size(); ++i) {
    read = dataset.read(i, sample);
  }
  if (!read && may_skip) {
    return fail(read.error().kind,
                fmt::format("none of the {} training samples can be decoded; the last: {}",
                            dataset.size(), read.error().message));
  }
  return read;
}

}  // namespace

Result<data::Image> first_image(const config::Config& config, const data::Dataset& dataset,
                                const data::Pipeline& pipeline) {
  data::Sample sample;
  KEDGE_TRY(read_first(dataset, config.data.on_error == config::OnError::Skip, sample));
  data::Visit visit{.random = Random(0)};
  pipeline.apply(sample.image, visit);
  return std::move(sample.image);
}

}  // namespace kedge::train
