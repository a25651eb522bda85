// What this machine calls itself; "?" where it does not say.
#pragma once

#include <string>

namespace kedge {

std::string host_name();

}  // namespace kedge
