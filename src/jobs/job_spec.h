// A JobSpec is one submission as the user means it: a command, where it runs, what it needs, how
// many times, after what. Launchers render it for their scheduler; it knows none of them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "config/job_config.h"
#include "core/file.h"
#include "core/result.h"

namespace kedge::jobs {

// When a job may start that waits for another.
enum class After : std::uint8_t { Ok, Any, Failed };

std::string_view name_of(After after);

struct Dependency {
  std::string key;  // of a job in the same book
  After after = After::Ok;
};

struct JobSpec {
  std::string name;  // for people; letters, digits, '-', '_', '.'
  // The program first, absolute. Filled in per task: {item}, {task}, and {dir}, the job's folder.
  std::vector<std::string> command;
  Path folder;  // absolute; where the command runs
  config::JobConfig wants;
  std::map<std::string, std::string> variables = {};  // besides wants.env; never a secret
  std::int64_t tasks = 0;                             // an array of so many; 0: a single job
  std::vector<std::string> items = {};                // one text a task, or empty
  std::vector<Dependency> after = {};
  std::map<std::string, std::string> files = {};  // name to text; kept in the job's folder
  // Variables with keys that it is handed where they are set, besides wants.secrets (secrets.h).
  std::vector<std::string> keys = {};
  bool is_kedge = false;     // it saves and exits with 85 by itself, before its time limit too
  std::int64_t per_gpu = 1;  // tasks that share the GPUs of one (task_share.h)
  // Where several do: how many there are in all; the items of one are between tabs. 0: none do.
  std::int64_t shared = 0;
  double estimate_s = 0;  // of one task, from earlier runs or a probe; 0: nobody knows

  bool is_array() const { return tasks > 0; }

  std::int64_t task_count() const { return is_array() ? tasks : 1; }

  // Started again after 85, or at its time limit, it goes on where it was.
  bool is_resumable() const { return is_kedge || wants.resumable; }
};

// Says what no scheduler could run: an empty command, a secret in job.env, a missing input file.
Result<void> check_spec(const JobSpec& spec);

// True for names of variables that usually hold a key, a token or a password.
bool is_secret_name(std::string_view name);

nlohmann::json to_json(const JobSpec& spec);
Result<JobSpec> spec_from_json(const nlohmann::json& json);

}  // namespace kedge::jobs
