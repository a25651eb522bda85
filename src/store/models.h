// The model registry: names that people agree on ("mnist-classifier"), their numbered versions, and
// what each is for: aliases, stages, tags.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "store/store.h"

namespace kedge::store {

struct ModelVersion {
  std::string model = {};
  std::int64_t version = 1;
  std::string source = {};  // "artifact:project/name:v3", a path or a URI
  std::string run_id = {};  // empty: not from a run
  std::string stage = "None";
  std::string description = {};
  std::map<std::string, std::string> tags = {};
  std::vector<std::string> aliases = {};
  std::string user = {};
  std::int64_t created_us = 0;
  std::int64_t changed_us = 0;
  std::string run_link = {};  // a page about the run, elsewhere
  std::string model_id = {};  // of the logged model it was made from
  std::string location = {};  // where the files are; empty: at `source`
};

struct RegisteredModel {
  std::string name = {};
  std::string description = {};
  std::map<std::string, std::string> tags = {};
  std::map<std::string, std::int64_t> aliases = {};  // to versions
  std::int64_t created_us = 0;
  std::int64_t changed_us = 0;
  std::vector<ModelVersion> versions = {};  // newest first
};

// Only what is given changes.
struct ModelPatch {
  std::optional<std::string> description = {};
  std::map<std::string, std::string> tags = {};
  std::vector<std::string> removed_tags = {};
  std::optional<std::string> stage = {};  // of a version
};

class Models {
 public:
  explicit Models(Store& store) : store_(store) {}

  Result<std::vector<RegisteredModel>> list() const;
  Result<RegisteredModel> find(const std::string& name) const;

  // Usage when there is one of that name.
  Result<void> create(const RegisteredModel& model, std::int64_t now_us);
  Result<void> patch(const std::string& name, const ModelPatch& patch, std::int64_t now_us);
  Result<void> rename(const std::string& name, const std::string& to, std::int64_t now_us);
  Result<void> remove(const std::string& name);

  // The next number; numbers are never used again.
  Result<ModelVersion> add_version(const ModelVersion& draft, std::int64_t now_us);
  Result<ModelVersion> find_version(const std::string& model, std::int64_t version) const;
  Result<void> patch_version(const std::string& model, std::int64_t version,
                             const ModelPatch& patch, std::int64_t now_us);
  // Into a stage, and others that are there into Archived, in one go.
  Result<void> move_version(const std::string& model, std::int64_t version,
                            const std::string& stage, bool is_archiving, std::int64_t now_us);
  Result<void> remove_version(const std::string& model, std::int64_t version, std::int64_t now_us);

  // An alias belongs to one version: it moves.
  Result<void> set_alias(const std::string& model, const std::string& alias, std::int64_t version);
  Result<void> remove_alias(const std::string& model, const std::string& alias);

 private:
  Store& store_;
};

}  // namespace kedge::store
