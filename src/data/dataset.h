// A Dataset is an immutable list of samples, read by index from any thread. Images are 8-bit
// HWC; token windows are 32-bit ids. The data room deals in bytes: it never includes libtorch.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "config/config.h"
#include "core/registry.h"
#include "core/result.h"
#include "data/image.h"
#include "data/order.h"

namespace kedge::data {

enum class SampleKind : std::uint8_t { Image, Tokens };

struct DatasetInfo {
  SampleKind kind = SampleKind::Image;
  std::int64_t height = 0;  // images: 0 when they differ in size
  std::int64_t width = 0;
  std::int64_t channels = 0;
  std::vector<std::string> class_names;
  std::vector<double> mean;  // images: per channel, of pixels in 0..1
  std::vector<double> std;
  std::int64_t context = 0;  // tokens: inputs per sample (a window holds one more)
  std::int64_t vocab = 0;
};

struct Sample {
  Image image;                       // images
  std::vector<std::int32_t> tokens;  // tokens: context + 1 ids
  std::int64_t label = 0;
};

class Dataset {
 public:
  virtual ~Dataset() = default;

  virtual const DatasetInfo& info() const = 0;
  virtual std::int64_t size() const = 0;

  // The class of a sample without decoding it; 0 for tokens.
  virtual std::int64_t label(std::int64_t index) const = 0;

  // What a person would call the sample: "truck/000123.png", "test/17".
  virtual std::string name(std::int64_t index) const = 0;

  // Fills `sample`, reusing its memory. Safe from many threads.
  virtual Result<void> read(std::int64_t index, Sample& sample) const = 0;

  // A digest of the content: equal digests, equal data.
  virtual std::string digest() const = 0;

  // Which sample is at `position` of an epoch: a pure function of its arguments.
  virtual std::int64_t index_at(const OrderKey& key, std::int64_t position) const;
};

// The splits a source finds in its files. `test` is null when the set has no such split.
struct SourceSplits {
  std::unique_ptr<Dataset> train;
  std::unique_ptr<Dataset> test;
};

// A source opens one kind of data: one file in data/sources/, registered by name.
using Sources = Registry<SourceSplits, config::DataConfig>;

// What training and evaluation work with. No sample is in both, whatever the seed, the number of
// ranks or the restart: the split depends only on the data and on data.split_seed.
struct TrainVal {
  std::unique_ptr<Dataset> train;
  std::unique_ptr<Dataset> val;
  std::string digest;  // of the data as selected and split
};

// The splits of one data set as they lie on disk (data.name, data.path): every class, no split.
Result<SourceSplits> open_source(const config::DataConfig& config);

Result<TrainVal> open_data(const config::DataConfig& config);

}  // namespace kedge::data
