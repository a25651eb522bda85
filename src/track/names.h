// Identities for runs nobody named.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/random.h"
#include "core/result.h"

namespace kedge::track {

// "20261115-042133-k3f9q2": sorts by time of creation (UTC).
std::string make_run_id(std::int64_t unix_seconds, Random& random);

// "steady-lantern-42".
std::string make_run_name(Random& random);

// Ones that nobody asks for again: the numbers are the kernel's.
std::string make_run_id(std::int64_t unix_seconds);
std::string make_run_name();

// Whether a name can be a folder everywhere: letters, digits, dot, dash and underscore.
Result<void> check_folder_name(std::string_view what, std::string_view name);

// The same letters, with anything else as a dash; never empty.
std::string make_file_name(std::string_view name);

}  // namespace kedge::track
