#include "data/internal/idx_source.h"

#include <utility>

#include <fmt/format.h>

#include "data/internal/idx_files.h"
#include "data/internal/memory_images.h"
#include "data/internal/missing.h"

namespace kedge::data {
namespace {

std::unique_ptr<Dataset> make_idx_part(const IdxSet& set, const std::string& part,
                                       ImageBlock block) {
  DatasetInfo info;
  info.fields = image_fields({block.height, block.width, block.channels});
  info.class_names = set.class_names;
  info.mean = {set.mean};
  info.std = {set.std};
  return std::make_unique<MemoryImages>(std::move(info), part, std::move(block.pixels),
                                        std::move(block.labels));
}

}  // namespace

Result<std::unique_ptr<SourceSplits>> open_idx(const config::DataConfig& config,
                                               const IdxSet& set) {
  auto data = read_idx_parts(config.path);
  if (!data) {
    if (data.error().kind == ErrorKind::NotFound) {
      Error error = missing_data(config, set.title + " data");
      error.message += fmt::format(" ({})", data.error().message);
      return std::unexpected(std::move(error));
    }
    return std::unexpected(std::move(data).error());
  }
  auto splits = std::make_unique<SourceSplits>();
  splits->train = make_idx_part(set, "train", std::move(data->train));
  splits->test = make_idx_part(set, "test", std::move(data->test));
  return splits;
}

}  // namespace kedge::data
