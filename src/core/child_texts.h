// The words and the environment of a program that is about to be started, made before fork(): after
// it only async-signal-safe calls are allowed.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace kedge {

// This process's environment with `variables` added or in place of its own: "NAME=value" texts.
std::vector<std::string> environment_with(
    const std::vector<std::pair<std::string, std::string>>& variables);

// What execve() takes: pointers into `texts`, and a null.
std::vector<char*> pointers_to(std::vector<std::string>& texts);

}  // namespace kedge
