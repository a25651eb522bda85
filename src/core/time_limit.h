// The time at which somebody else will end this process: a scheduler, a launcher.
#pragma once

#include <chrono>
#include <string>

namespace kedge {

struct TimeLimit {
  std::chrono::system_clock::time_point end;
  std::string source;  // for messages: "Slurm job 12 (squeue)"
};

}  // namespace kedge
