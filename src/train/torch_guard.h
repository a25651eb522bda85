// The fence around libtorch's exceptions: inside they fly, outside there are only Results.
#pragma once

#include <functional>

#include "core/result.h"

namespace kedge::train {

// Runs `work` on this thread and returns what it returns; what libtorch throws becomes an Error of
// one line, out-of-memory with advice, a rank that is gone with its name. Objects of libtorch's
// that `work` made are destroyed before it returns.
Result<void> catch_torch(const std::function<Result<void>()>& work);

}  // namespace kedge::train
