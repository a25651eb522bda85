// The public API's way to pick and order runs, filters as MongoDB writes them and
// `-summary_metrics.x`, in the words of kedge's own language (docs/reference/query.md).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/result.h"
#include "store/run.h"
#include "wandb/internal/nodes.h"

namespace kedge::wandb {

// {"state": "finished", "config.lr.value": {"$gt": 0.1}} is `state = "finished" and
// config.`lr` > 0.1`. Usage, naming it, for an operator or a field that is not known.
Result<std::string> translate_filter(const nlohmann::json& filter);

// "-summary_metrics.loss,+created_at" is {"-summary.`loss`", "created"}. Empty: {"created"}.
Result<std::vector<std::string>> translate_order(std::string_view order);

struct RunQuery {
  std::string filters = {};  // JSON; empty: all
  std::string order = {};
  PageRequest page = {};
};

struct FoundRuns {
  std::vector<store::RunKey> keys;
  std::size_t total = 0;
};

Result<FoundRuns> search_runs(const ProjectNode& project, const RunQuery& query);

}  // namespace kedge::wandb
