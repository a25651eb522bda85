// What runs were given and what they made, beside their values: datasets, and logged models as
// inputs and outputs. They lie in tables of their own; which runs have any is kept in memory, so
// that a search reads the database only for those.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "mlflow/internal/fields.h"
#include "store/store.h"

namespace kedge::mlflow {

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
  KeyValues tags = {};  // the context is one: mlflow.data.context
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

struct DatasetSummary {
  std::int64_t project = 0;
  std::string name = {};
  std::string digest = {};
  std::string context = {};
};

class Links {
 public:
  explicit Links(store::Store& store) : store_(store) {}

  // Which runs have links. Called once, before the others.
  Result<void> load();

  bool has(const store::RunKey& run) const;
  std::vector<std::string> runs() const;                  // the ids of those that have any
  Result<RunLinks> find(const store::RunKey& run) const;  // empty for one without
  // What is there already stays as it is.
  Result<void> add(const store::RunKey& run, const RunLinks& links);

  // Of all runs of these projects that are not in the trash, at most `limit`.
  Result<std::vector<DatasetSummary>> summaries(const std::vector<std::int64_t>& projects,
                                                std::size_t limit) const;

 private:
  store::Store& store_;
  mutable std::mutex mutex_;
  std::set<std::string, std::less<>> linked_;  // by id: a project may get another name
};

// {"dataset_inputs", "model_inputs"} and {"model_outputs"}; what is empty is left out.
nlohmann::json render_inputs(const RunLinks& links);
nlohmann::json render_outputs(const RunLinks& links);

}  // namespace kedge::mlflow
