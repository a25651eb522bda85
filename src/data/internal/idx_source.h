// What the idx sources (mnist, fashion-mnist) share.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "config/data_config.h"
#include "core/result.h"
#include "data/dataset.h"

namespace kedge::data {

struct IdxSet {
  std::string title;
  std::vector<std::string> class_names;
  double mean;
  double std;
};

Result<std::unique_ptr<SourceSplits>> open_idx(const config::DataConfig& config, const IdxSet& set);

}  // namespace kedge::data
