// Texts that nobody can guess and nobody has had, from the kernel's random numbers. For numbers
// that must come again the same: core/random.h.
#pragma once

#include <cstddef>
#include <string>

namespace kedge {

std::string make_random_hex(std::size_t bytes);

// Small letters and digits.
std::string make_random_word(std::size_t letters);

}  // namespace kedge
