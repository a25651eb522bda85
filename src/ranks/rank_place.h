// Which of many processes this one is: from torchrun's variables, from what the scheduler says of
// the step (core/inside_job.h), from MPI's, or from the supervisor that started it. Reads
// variables, nothing else.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/inside_job.h"
#include "core/result.h"

namespace kedge::ranks {

struct RankPlace {
  std::int64_t rank = 0;
  std::int64_t size = 1;
  std::int64_t local_rank = 0;  // among those of this machine
  std::int64_t local_size = 1;
  std::string host;  // where rank 0 listens
  int port = 0;
  std::string source;  // who said so: "torchrun's variables", "Slurm job 12", ...
};

using kedge::find_environment_variable;
using kedge::FindVariable;

// Nothing: this process trains alone. RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT
// come first, because whoever sets them means it; then a scheduler's step of several tasks, then
// Open MPI's and PMI's variables. A Usage error says what is missing or contradicts.
Result<std::optional<RankPlace>> find_rank_place(const FindVariable& find);

// A port that the jobs of one machine do not share, the same on all machines of the job.
int port_of_job(std::int64_t job, std::int64_t step);

// The machines of a job, one supervisor on each.
struct NodePlace {
  std::int64_t node = 0;
  std::int64_t nodes = 1;
  std::string host;  // of the first machine
  int port = 0;
  std::string source;
};

// A scheduler's step of one task per machine, or NODE_RANK and NNODES with MASTER_ADDR and
// MASTER_PORT. `endpoint` ("host:port") wins over both for where to meet.
Result<std::optional<NodePlace>> find_node_place(const FindVariable& find,
                                                 const std::string& endpoint);

}  // namespace kedge::ranks
