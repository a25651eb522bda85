// The job section: what the work needs from a machine or a scheduler.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "config/section.h"

namespace kedge::config {

struct JobConfig {
  std::int64_t nodes = 1;
  std::int64_t ranks = 1;
  std::int64_t gpus = 0;
  Bytes gpu_memory = {};
  std::string gpu_capability = "";
  std::int64_t cpus = 2;
  Bytes memory = {4'000'000'000};
  Bytes disk = {2'000'000'000};
  Seconds time = {3600};
  std::string queue = "";
  std::string account = "";
  std::string constraint = "";
  std::string reservation = "";
  std::string container = "";
  std::vector<std::string> setup = {};
  std::map<std::string, std::string> env = {};
  std::int64_t retries = 0;
  Seconds checkpoint_every = {0};

  void describe(Section& s) {
    s.field("nodes", nodes, "machines", at_least(1));
    s.field("ranks", ranks, "processes per machine", at_least(1));
    s.field("gpus", gpus, "GPUs per machine", at_least(0));
    s.field("gpu_memory", gpu_memory, "least memory of each GPU, e.g. 16GB; 0: any");
    s.field("gpu_capability", gpu_capability, "least compute capability, e.g. 8.0; empty: any");
    s.field("cpus", cpus, "cores per process", at_least(1));
    s.field("memory", memory, "memory per machine");
    s.field("disk", disk, "scratch disk per machine");
    s.field("time", time, "time limit: 90m, 12h, 1-00:00:00");
    s.field("queue", queue, "Slurm partition or HTCondor pool; empty: the site's default");
    s.field("account", account, "who pays; empty: the site's default");
    s.field("constraint", constraint, "node features the scheduler must match");
    s.field("reservation", reservation, "a reservation to run in");
    s.field("container", container, "image to run in; empty: none");
    s.field("setup", setup, "shell lines before the program: module load, conda activate, ...");
    s.field("env", env, "environment variables of the job");
    s.field("retries", retries, "times a failed job is run again", at_least(0));
    s.field("checkpoint_every", checkpoint_every,
            "save and exit with 85 after this long, so that HTCondor fetches the checkpoint and "
            "starts the job again; 0: run to the end");
  }
};

}  // namespace kedge::config
