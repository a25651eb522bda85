// Unicode's general categories, of version 16.0: the one that the regular expressions of Hugging
// Face's tokenizers 0.23 and of tiktoken 0.14 know. Which characters are letters decides where text
// is cut, so the version is pinned here and not left to a library.
#pragma once

#include <cstdint>
#include <span>

namespace kedge::data {

enum class Category : std::uint8_t {
  Lu,
  Ll,
  Lt,
  Lm,
  Lo,
  Mn,
  Mc,
  Me,
  Nd,
  Nl,
  No,
  Pc,
  Pd,
  Ps,
  Pe,
  Pi,
  Pf,
  Po,
  Sm,
  Sc,
  Sk,
  So,
  Zs,
  Zl,
  Zp,
  Cc,
  Cf,
  Cs,
  Co,
  Cn,
};

// The ranges in order, the first at 0: where each begins << 8 | its Category.
std::span<const std::uint32_t> category_ranges();

}  // namespace kedge::data
