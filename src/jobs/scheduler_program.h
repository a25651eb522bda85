// The programs of a scheduler are on its login nodes; elsewhere that is said first, before a sweep
// is made, files are packed or a job is written into the book.
#pragma once

#include <string_view>

#include "core/result.h"

namespace kedge::jobs {

// Errors: Usage, naming the program and what can be done without it.
Result<void> need_program(std::string_view program, std::string_view scheduler);

}  // namespace kedge::jobs
