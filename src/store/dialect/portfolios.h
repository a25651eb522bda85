// Collections that versions of artifacts are linked into, each with numbers and aliases of its own,
// and the tags of any collection.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "store/artifacts.h"
#include "store/store.h"

namespace kedge::store {

struct Portfolio {
  std::int64_t id = 0;
  std::string project = {};
  std::string name = {};
  std::string type = {};
  std::string description = {};
  std::int64_t created_us = 0;
};

struct PortfolioMember {
  std::int64_t portfolio = 0;
  std::int64_t index = 0;  // 0, 1, 2, ...: never used again
  std::string project = {};
  std::string name = {};     // of the artifact
  std::int64_t version = 0;  // of it
  std::vector<std::string> aliases = {};
  std::int64_t created_us = 0;
};

class Portfolios {
 public:
  explicit Portfolios(Store& store) : store_(store) {}

  Result<std::vector<Portfolio>> list(const std::string& project) const;
  Result<std::optional<Portfolio>> find(const std::string& project, const std::string& name) const;
  Result<std::optional<Portfolio>> find(std::int64_t id) const;
  // Newest first.
  Result<std::vector<PortfolioMember>> members(std::int64_t portfolio) const;
  // Where a version is linked into.
  Result<std::vector<PortfolioMember>> links(const ArtifactVersion& version) const;

  // Makes the portfolio when it is not there. A version that is in it keeps its number. Aliases
  // move; the newest member also has "latest".
  Result<PortfolioMember> link(const Portfolio& portfolio, const ArtifactVersion& version,
                               const std::vector<std::string>& aliases, std::int64_t now_us);
  Result<void> unlink(std::int64_t portfolio, const ArtifactVersion& version);
  Result<void> set_alias(std::int64_t portfolio, std::int64_t index, const std::string& alias);
  Result<void> remove_alias(std::int64_t portfolio, const std::string& alias);
  Result<void> rename(std::int64_t portfolio, const std::string& name,
                      const std::string& description);
  Result<void> remove(std::int64_t portfolio);

  // Artifacts are collections too. A name that is taken is Usage.
  Result<void> change_sequence(const Portfolio& which, const Portfolio& facts);
  Result<void> remove_sequence(const std::string& project, const std::string& name);

  Result<std::vector<std::string>> tags(const std::string& project, const std::string& name) const;
  Result<void> change_tags(const std::string& project, const std::string& name,
                           const std::vector<std::string>& added,
                           const std::vector<std::string>& removed);

 private:
  Store& store_;
};

}  // namespace kedge::store
