// Who this process is, so that another one can tell later whether it still lives.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/file.h"

namespace kedge::track {

struct ProcessIdentity {
  std::string host;
  std::string machine_id;     // empty where the machine has none
  std::string boot_id;        // of the running kernel
  std::string pid_namespace;  // "pid:[4026531836]"
  std::int64_t pid = 0;
  std::uint64_t start_ticks = 0;  // since boot; a process number used again has another
  std::string user;
  std::string job;              // the scheduler's name and number of it; empty: none
  std::int64_t job_starts = 0;  // how often the scheduler has started that job
};

ProcessIdentity identify_this_process();

enum class Life : std::uint8_t { Alive, Dead, Unknown };

// What can be known about `other` from here without waiting for a sign of life.
Life judge_life(const ProcessIdentity& other, const ProcessIdentity& here);

std::string find_user_name();

// The value behind `key` in files of "key<separator>value" lines; empty when there is none.
std::string find_in_file(const Path& path, std::string_view key, char separator);

}  // namespace kedge::track
