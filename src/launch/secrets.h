// Keys and tokens of the submitting shell reach the job in a file that only its owner can read, and
// by no other way: not on a command line, not in a submit file, not in the environment that
// schedulers keep in their databases, not in a log.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/file.h"
#include "core/result.h"

namespace kedge::launch {

// The variables of this process whose names say that they are secret (is_secret_name).
std::map<std::string, std::string> find_secrets();

// `folder`/secrets.sh, mode 0600, to be sourced by the job; none when there are no secrets.
Result<void> write_secrets(const Path& folder);
void remove_secrets(const Path& folder);

// The same command run without them: {"env", "-u", "X", ..., command...}.
std::vector<std::string> without_secrets(std::vector<std::string> command);

// Replaces each secret in what a job prints by "***".
std::string hide_secrets(std::string_view line, const std::map<std::string, std::string>& secrets);

}  // namespace kedge::launch
