// A chosen part of a data set, optionally with other labels: splits, class filters, sample_ratio.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/result.h"
#include "data/dataset.h"

namespace kedge::data {

// Shared: the training and the validation split look into the same data.
using SharedDataset = std::shared_ptr<const Dataset>;

class Subset : public Dataset {
 public:
  Subset(SharedDataset whole, std::vector<std::int64_t> indices);

  // new_labels[old label] is the label from now on.
  Subset(SharedDataset whole, std::vector<std::int64_t> indices,
         std::vector<std::int64_t> new_labels, std::vector<std::string> class_names);

  const DatasetInfo& info() const override { return info_; }

  std::int64_t size() const override { return static_cast<std::int64_t>(indices_.size()); }

  std::int64_t label(std::int64_t index) const override;
  std::string name(std::int64_t index) const override;
  Result<void> read(std::int64_t index, Sample& sample) const override;
  std::string digest() const override;

 private:
  std::int64_t original(std::int64_t index) const {
    return indices_[static_cast<std::size_t>(index)];
  }

  SharedDataset whole_;
  std::vector<std::int64_t> indices_;
  std::vector<std::int64_t> new_labels_;  // empty: as they were
  DatasetInfo info_;
};

// The samples of `classes`, labelled by their place in that list. An unknown class is an error.
Result<std::unique_ptr<Dataset>> keep_classes(std::unique_ptr<Dataset> dataset,
                                              const std::vector<std::string>& classes);

}  // namespace kedge::data
