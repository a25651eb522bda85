// MLflow's filter and order of runs, made into functions of a run as the store's index shows it, so
// that a search stays in memory.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "mlflow/internal/filter.h"
#include "store/query.h"

namespace kedge::mlflow {

struct RunQuery {
  std::vector<Clause> clauses = {};   // without those of datasets
  std::vector<OrderTerm> order = {};  // what MLflow adds is added here
  // Given: only these runs, by id: what the clauses of datasets leave, and what the caller may see.
  std::shared_ptr<const std::set<std::string, std::less<>>> only = {};
  // Of each project by name, what its runs' artifact_uri begins with: "mlflow-artifacts:/7/".
  std::shared_ptr<const std::map<std::string, std::string, std::less<>>> locations = {};
};

store::SearchPlan compile_query(const RunQuery& query, const store::QueryKeys& keys);

}  // namespace kedge::mlflow
