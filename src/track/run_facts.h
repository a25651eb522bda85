// All that a run folder says of its run besides the event logs, as the server takes it:
// {name, state, created_us, config, environment, ..., attempts: [...]}. Others may have made the
// folder: below it no symbolic link is followed, and only regular files are read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/file.h"
#include "core/result.h"

namespace kedge::track {

struct RunName {
  std::string project;
  std::string id;

  bool operator==(const RunName&) const = default;
};

// From run.json; NotFound where there is none, Corrupt where it describes no run.
Result<RunName> read_run_name(const Path& run);

// A run whose last attempt was killed is "killed", whatever run.json says. Parts of the folder that
// cannot be read are left out.
Result<nlohmann::json> read_run_facts(const Path& run);

// Changes when what read_run_facts() returns may have changed; costs a few stat() calls.
std::uint64_t stamp_run_facts(const Path& run);

// When the newest attempt last touched its file, in nanoseconds; it does so every few seconds. Only
// good for comparing: the clock is the file server's.
std::optional<std::int64_t> find_sign_of_life(const Path& run);

// The writers of the event logs in the folder ("a1-r0"), in the order of their attempts.
std::vector<std::string> list_writers(const Path& run);

Path log_path(const Path& run, const std::string& writer);

// Files of a run that are sent beside its logs, as paths within the folder: media, the user's
// config and the patch of the code. Sorted.
std::vector<std::string> list_run_files(const Path& run);

}  // namespace kedge::track
