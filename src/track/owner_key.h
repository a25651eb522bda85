// The key of a server that was started without --auth: a file that only its owner can read, in
// their config folder, named by machine and port, so that their own programs find it by themselves.
#pragma once

#include <optional>
#include <string>

#include "core/file.h"
#include "core/result.h"

namespace kedge::track {

// Where the key of the server at `url` ("http://127.0.0.1:8080") lies, if it is yours. Every name
// for this machine gives the same file; home folders are often shared by many machines.
Result<Path> owner_key_file(const std::string& url);

// The key for that server, if there is one. On this machine only when the port is held by a process
// of the same user: whoever takes the port of a server that ended must not be sent its key.
std::optional<std::string> find_owner_key(const std::string& url);

}  // namespace kedge::track
