// What this machine calls itself.
#pragma once

#include <string>

namespace kedge::launch {

std::string host_name();

}  // namespace kedge::launch
