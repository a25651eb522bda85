// What Slurm's accounting (sacct) remembers of jobs: how they ended and what they used.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/task_status.h"

namespace kedge::jobs::slurm {

struct AccountedJob {
  std::string id;  // the array's where there is one
  std::optional<std::int64_t> task = {};
  std::string name = {};
  std::string mark = {};  // empty also where the site does not keep comments
  TaskStatus status = {};
};

// The columns to ask for; times must be in UTC and in the standard form.
std::string accounting_columns();

// `sacct -n -P -o accounting_columns()`. A job's steps bring its memory; tasks of an array that
// have not started are left out.
std::vector<AccountedJob> parse_accounting(std::string_view text);

// "1-02:03:04", "02:03.456": seconds.
std::optional<double> parse_duration(std::string_view text);

// "3024K", "1.5G", "100M": bytes, by powers of 1024; no letter: bytes.
std::optional<std::uint64_t> parse_size(std::string_view text);

}  // namespace kedge::jobs::slurm
