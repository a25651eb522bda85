// A DAG of jobs as DAGMan reads it. DAGMan knows one kind of edge: run when the parent succeeded.
// Where a step waits for a failure, or for any end, every step notes how it ended (SCRIPT POST)
// and looks at what it waits for before it runs (SCRIPT PRE); a FINAL node then says whether any
// step failed. Before each try a step also looks whether somebody has cancelled it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.h"
#include "jobs/dag.h"

namespace kedge::jobs::condor {

struct DagNode {
  std::string name;
  std::string folder;       // of its job; a file `cancelled` there keeps it from running
  std::string submit_file;  // in it
  std::int64_t retries = 0;
  std::vector<DagAfter> after = {};
};

struct DagText {
  std::string dag;
  std::string script;  // to be written as kDagScript beside it
};

inline constexpr const char* kDagScript = "dag-step.sh";

// Errors: Usage, for a path with white space.
Result<DagText> render_dag(const std::vector<DagNode>& nodes);

}  // namespace kedge::jobs::condor
