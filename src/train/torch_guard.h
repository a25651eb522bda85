// The fence around libtorch's exceptions: inside they fly, outside there are only Results.
#pragma once

#include <functional>

#include "core/result.h"

namespace kedge::train {

// Runs `work`; what libtorch throws becomes an Error of one line, out-of-memory with advice.
Result<void> catch_torch(const std::function<Result<void>()>& work);

}  // namespace kedge::train
