// Finds which tensor of a file belongs to which tensor of a model, when their names differ by a
// prefix on either side.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace kedge::nn {

// From model names to file names; model names without a partner are absent.
std::map<std::string, std::string> match_names(const std::vector<std::string>& model_names,
                                               const std::vector<std::string>& file_names);

// Shell patterns: * is any run of characters, ? is any one.
bool matches_pattern(std::string_view pattern, std::string_view name);
bool matches_any(const std::vector<std::string>& patterns, std::string_view name);

}  // namespace kedge::nn
