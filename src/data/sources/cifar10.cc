#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "config/data_config.h"
#include "core/result.h"
#include "data/dataset.h"
#include "data/internal/cifar10_files.h"
#include "data/internal/memory_images.h"
#include "data/internal/missing.h"

namespace kedge::data {
namespace {

std::unique_ptr<Dataset> make_cifar10_part(const std::string& part, ImageBlock block) {
  DatasetInfo info;
  info.fields = image_fields({block.height, block.width, block.channels});
  info.class_names.assign(kCifar10Classes.begin(), kCifar10Classes.end());
  info.mean = {0.4914, 0.4822, 0.4465};
  info.std = {0.2470, 0.2435, 0.2616};
  return std::make_unique<MemoryImages>(std::move(info), part, std::move(block.pixels),
                                        std::move(block.labels));
}

Result<std::unique_ptr<SourceSplits>> open_cifar10(const config::DataConfig& config) {
  auto data = read_cifar10(config.path);
  if (!data) {
    if (data.error().kind == ErrorKind::NotFound) {
      Error error = missing_data(config, "CIFAR-10 data");
      error.message += fmt::format(" ({})", data.error().message);
      return std::unexpected(std::move(error));
    }
    return std::unexpected(std::move(data).error());
  }
  auto splits = std::make_unique<SourceSplits>();
  splits->train = make_cifar10_part("train", std::move(data->train));
  splits->test = make_cifar10_part("test", std::move(data->test));
  return splits;
}

const Sources::Add kAddCifar10(
    {"cifar10", "CIFAR-10: 60,000 colour images of 32x32 in 10 classes", open_cifar10, {"path"}});

}  // namespace
}  // namespace kedge::data
