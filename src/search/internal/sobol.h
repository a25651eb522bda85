// Sobol points: they fill a cube more evenly than random ones.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kedge::search {

// How many dimensions the table of direction numbers has.
std::size_t sobol_dimensions();

// Coordinate `dimension` of point `index`, as 32 bits of a fraction, in the order of Gray codes.
std::uint32_t sobol_bits(std::uint32_t index, std::size_t dimension);

// The same in [0, 1), scrambled by `seed` so that each digit's flips depend on the digits before it
// (Owen): another seed gives other points that fill the cube as evenly.
double scrambled_sobol(std::uint32_t index, std::size_t dimension, std::uint64_t seed);

}  // namespace kedge::search
