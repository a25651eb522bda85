// The nearest valid name to a mistyped one, for errors that say what was probably meant.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace kedge {

// Empty when nothing is close enough to be a likely slip.
std::string nearest_name(std::string_view wrong, std::span<const std::string> valid);

// `names` with the most alike first.
std::vector<std::string> by_nearness(std::string_view wrong, std::vector<std::string> names);

// A Usage error: "unknown model 'resnet81'; did you mean 'resnet18'?", all names in the hint.
Error unknown_name(std::string_view kind, std::string_view name,
                   std::span<const std::string> valid);

}  // namespace kedge
