// What runs were given and what they made, beside their values: datasets, and logged models as
// inputs and outputs. Which runs have any is kept in memory, so that a search reads the database
// only for those.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "store/store.h"

namespace kedge::store {

using KeyValues = std::vector<std::pair<std::string, std::string>>;

struct Dataset {
  std::string name = {};
  std::string digest = {};
  std::string source_type = {};
  std::string source = {};
  std::string schema = {};
  std::string profile = {};
};

struct DatasetInput {
  Dataset dataset = {};
  KeyValues tags = {};
};

struct ModelLink {
  std::string model_id = {};
  std::int64_t step = 0;  // of outputs
};

struct RunLinks {
  std::vector<DatasetInput> datasets = {};
  std::vector<ModelLink> inputs = {};
  std::vector<ModelLink> outputs = {};
};

// A dataset that a run of the project was given.
struct GivenDataset {
  std::int64_t project = 0;
  std::string name = {};
  std::string digest = {};
  KeyValues tags = {};
};

// One for a store, for any thread.
class Links {
 public:
  explicit Links(Store& store) : store_(store) {}

  // Which runs have links. Called once, before the others.
  Result<void> load();

  bool has(const RunKey& run) const;
  std::vector<std::string> runs() const;           // the ids of those that have any
  Result<RunLinks> find(const RunKey& run) const;  // empty for one without
  // What is there already stays as it is. NotFound when there is no such run.
  Result<void> add(const RunKey& run, const RunLinks& links);

  // Of all runs of this project that are not in the trash, the oldest first.
  Result<std::vector<GivenDataset>> datasets(std::int64_t project) const;

 private:
  Store& store_;
  mutable std::mutex mutex_;
  std::set<std::string, std::less<>> linked_;  // by id: a project may get another name
};

}  // namespace kedge::store
