// A Dataset is an immutable list of samples, read by index from any thread. Its info says which
// fields they have. The data room deals in bytes: it never includes libtorch.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/config.h"
#include "core/registry.h"
#include "core/result.h"
#include "data/field.h"
#include "data/image.h"
#include "data/order.h"
#include "data/tokenizer/tokenizer.h"

namespace kedge::data {

struct DatasetInfo {
  std::vector<FieldInfo> fields;  // of every sample
  std::vector<std::string> class_names;
  std::vector<double> mean;  // images: per channel, of pixels in 0..1
  std::vector<double> std;
  std::int64_t vocab = 0;                   // tokens: ids are below this
  std::optional<Tokenizer> tokenizer = {};  // whose ids they are; nothing: bytes, or not known
  std::vector<std::string> notes = {};      // what a person should know of how samples were made

  // All 0 where there are no images, height and width where they differ.
  ImageShape image_shape() const;
};

struct Sample {
  Image image = {};            // the field "image", before any transform
  JpegHelper* jpeg = nullptr;  // whom its reader asks to decode; null: nobody but libjpeg
  // Every other field but "label", at its place in DatasetInfo::fields.
  std::vector<std::vector<std::uint8_t>> rows = {};

  // The memory of a field, for `count` values.
  template <typename T>
  std::span<T> row(std::size_t field, std::int64_t count) {
    rows.resize(std::max(rows.size(), field + 1));
    rows[field].resize(static_cast<std::size_t>(count) * sizeof(T));
    return {reinterpret_cast<T*>(rows[field].data()), static_cast<std::size_t>(count)};
  }
};

class Dataset {
 public:
  virtual ~Dataset() = default;

  virtual const DatasetInfo& info() const = 0;
  virtual std::int64_t size() const = 0;

  // The class of a sample, without decoding it; 0 where it has no field "label".
  virtual std::int64_t label(std::int64_t index) const = 0;

  // What a person would call the sample: "truck/000123.png", "test/17".
  virtual std::string name(std::int64_t index) const = 0;

  // Fills all fields of `sample` but the label, reusing its memory. Safe from many threads.
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

// The data section, with model.file's tokenizer where it has one and data.tokenizer names none.
config::DataConfig data_config(const config::Config& config);

// Errors as open_data(). The splits of one data set as they lie on disk (data.name, data.path):
// every class, no split.
Result<SourceSplits> open_source(const config::DataConfig& config);

// The split, with data.classes, data.sample_ratio and data.mix applied. NotFound says how to get
// the data; Usage names the key that does not go with them.
Result<TrainVal> open_data(const config::DataConfig& config);

// The same of data_config().
Result<TrainVal> open_data(const config::Config& config);

}  // namespace kedge::data
