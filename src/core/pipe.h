// A pipe whose two ends close themselves.
#pragma once

#include "core/file.h"
#include "core/result.h"

namespace kedge {

struct Pipe {
  OwnedFd read;
  OwnedFd write;
};

// Programs that are started do not inherit its ends. `flags` as in pipe2(2): O_NONBLOCK.
Result<Pipe> make_pipe(int flags = 0);

}  // namespace kedge
