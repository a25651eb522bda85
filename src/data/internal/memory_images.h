// Images of one size held in memory, ready to be copied into a batch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.h"
#include "data/dataset.h"

namespace kedge::data {

class MemoryImages : public Dataset {
 public:
  // `pixels` holds labels.size() images of the info's size. `part` names the samples: "test" gives
  // "test/17".
  MemoryImages(DatasetInfo info, std::string part, std::vector<std::uint8_t> pixels,
               std::vector<std::uint8_t> labels);

  const DatasetInfo& info() const override { return info_; }

  std::int64_t size() const override { return static_cast<std::int64_t>(labels_.size()); }

  std::int64_t label(std::int64_t index) const override {
    return labels_[static_cast<std::size_t>(index)];
  }

  std::string name(std::int64_t index) const override;
  Result<void> read(std::int64_t index, Sample& sample) const override;

  std::string digest() const override { return digest_; }

 private:
  DatasetInfo info_;
  std::string part_;
  std::vector<std::uint8_t> pixels_;
  std::vector<std::uint8_t> labels_;
  ImageShape shape_;
  std::size_t image_bytes_;
  std::string digest_;
};

}  // namespace kedge::data
