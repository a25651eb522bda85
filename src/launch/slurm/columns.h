// What Slurm's programs print between separators.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kedge::launch::slurm {

// Every part counts, empty ones too: "a||" has three.
std::vector<std::string> split(std::string_view text, char separator);

}  // namespace kedge::launch::slurm
