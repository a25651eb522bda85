// Runs that are in no store, such as those in folders, picked and ordered as a store's are.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/result.h"
#include "store/run.h"
#include "store/store.h"

namespace kedge::store {

struct ListedRun {
  RunFacts facts = {};
  nlohmann::json config = {};                         // nested
  std::map<std::string, MetricSummary> metrics = {};  // what its curves come to
  nlohmann::json values = nlohmann::json::object();   // set by hand; they go before the metrics
};

// What of the runs, besides their facts and values, a search looks at; it may be left out of them
// where it does not.
struct SearchNeeds {
  bool config = false;
  bool metrics = false;
};

// Usage for a filter, order or field that cannot be read.
Result<SearchNeeds> find_needs(const Search& search, std::int64_t now_us);

// Store::search_text() over these runs. The search's fields must be given.
Result<SearchText> search_runs(std::vector<ListedRun> runs, const Search& search,
                               std::int64_t now_us);

}  // namespace kedge::store
