#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "config/data_config.h"
#include "core/hash.h"
#include "core/random.h"
#include "core/result.h"
#include "data/dataset.h"

namespace kedge::data {
namespace {

constexpr std::uint64_t kSeed = 0x6B656467;
constexpr std::int64_t kGrid = 8;
constexpr int kContrast = 48;
constexpr int kNoise = 48;

enum class Part : std::uint8_t { Train, Test };

// Each class has a random light/dark pattern of 8x8 fields per channel; a sample is its class's
// pattern under noise. Whole numbers only, so that every machine makes the same pixels.
class SyntheticImages : public Dataset {
 public:
  SyntheticImages(DatasetInfo info, Part part, std::int64_t count)
      : info_(std::move(info)), shape_(info_.image_shape()), part_(part), count_(count) {}

  const DatasetInfo& info() const override { return info_; }

  std::int64_t size() const override { return count_; }

  std::int64_t label(std::int64_t index) const override {
    return index % static_cast<std::int64_t>(info_.class_names.size());
  }

  std::string name(std::int64_t index) const override {
    return fmt::format("{}/{}", part_ == Part::Train ? "train" : "test", index);
  }

  Result<void> read(std::int64_t index, Sample& sample) const override;

  std::string digest() const override {
    Digest digest;
    digest.add(fmt::format("synthetic 1 {} {} {} {} {} {}", static_cast<int>(part_), count_,
                           shape_.height, shape_.width, shape_.channels, info_.class_names.size()));
    return digest.text();
  }

 private:
  DatasetInfo info_;
  ImageShape shape_;
  Part part_;
  std::int64_t count_;
};

Result<void> SyntheticImages::read(std::int64_t index, Sample& sample) const {
  Image& image = sample.image;
  image.height = shape_.height;
  image.width = shape_.width;
  image.channels = shape_.channels;
  image.pixels.resize(static_cast<std::size_t>(image.height * image.width * image.channels));
  Random noise({kSeed, static_cast<std::uint64_t>(part_), static_cast<std::uint64_t>(index)});
  std::array<std::uint64_t, 4> patterns{};  // one bit a field
  for (std::size_t c = 0; c < patterns.size(); ++c) {
    patterns[c] = mix_key({kSeed, static_cast<std::uint64_t>(label(index)), c});
  }
  std::uint64_t bits = 0;
  std::size_t at = 0;
  for (std::int64_t y = 0; y < image.height; ++y) {
    const std::int64_t row = y * kGrid / image.height;
    for (std::int64_t x = 0; x < image.width; ++x) {
      const std::int64_t field = row * kGrid + x * kGrid / image.width;
      for (std::int64_t c = 0; c < image.channels; ++c, ++at) {
        if (at % 8 == 0) {
          bits = noise.next();
        }
        const std::uint64_t pattern = patterns[static_cast<std::size_t>(c)];
        const bool is_light = ((pattern >> static_cast<unsigned>(field)) & 1U) != 0;
        const int grain = static_cast<int>((bits & 0xFFU) * 2 * kNoise / 256) - kNoise;
        bits >>= 8U;
        image.pixels[at] =
            static_cast<std::uint8_t>(128 + (is_light ? kContrast : -kContrast) + grain);
      }
    }
  }
  return {};
}

Result<std::unique_ptr<SourceSplits>> open_synthetic(const config::DataConfig& config) {
  DatasetInfo info;
  info.fields = image_fields({config.image_size, config.image_size, config.channels});
  info.class_names = config.classes;
  for (int i = 0; config.classes.empty() && i < 10; ++i) {
    info.class_names.push_back(fmt::format("class{}", i));
  }
  // Half the fields are light: the variance is that of the pattern and of the uniform grain.
  info.mean.assign(static_cast<std::size_t>(config.channels), 0.5);
  info.std.assign(static_cast<std::size_t>(config.channels), 0.217);
  auto splits = std::make_unique<SourceSplits>();
  splits->train = std::make_unique<SyntheticImages>(info, Part::Train, config.samples);
  splits->test = std::make_unique<SyntheticImages>(info, Part::Test,
                                                   std::max<std::int64_t>(1, config.samples / 4));
  return splits;
}

const Sources::Add kAddSynthetic(
    {"synthetic",
     "made-up images with a pattern per class, for tests and benchmarks "
     "(data.samples, data.image_size, data.channels)",
     open_synthetic,
     {"samples", "image_size", "channels"}});

}  // namespace
}  // namespace kedge::data
