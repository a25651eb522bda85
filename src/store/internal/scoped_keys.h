// The names that a search may know of: those of the runs it looks at, and no others. A filter on an
// unknown name is answered with the nearest known one, which must not be another project's.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/internal/run_index.h"
#include "store/query.h"
#include "store/run.h"

namespace kedge::store {

// Whether the search is about this run's project, and about this run where it is confined to one.
bool is_in_scope(const RunFacts& facts, const Search& search);

// Refers to all three, which must outlive it.
class ScopedKeys final : public QueryKeys {
 public:
  ScopedKeys(const RunIndex& index, const IndexSnapshot& blocks, const Search& search)
      : index_(index), blocks_(blocks), search_(search) {}

  std::optional<KeyId> find_config(std::string_view key) const override;
  std::optional<KeyId> find_metric(std::string_view key) const override;
  std::optional<KeyId> find_label(std::string_view key) const override;
  std::vector<std::string> config_names() const override;
  std::vector<std::string> metric_names() const override;
  std::vector<std::string> label_names() const override;

 private:
  bool is_everywhere() const { return search_.projects.empty() && search_.run.empty(); }

  // Calls `visit` for the runs in scope, until it returns true; whether one did.
  bool any_run(const std::function<bool(const RunEntry&)>& visit) const;

  const RunIndex& index_;
  const IndexSnapshot& blocks_;
  const Search& search_;
};

}  // namespace kedge::store
