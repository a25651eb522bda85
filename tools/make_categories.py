"""Write src/data/tokenizer/internal/categories.cc: the general category of every code point.

    pip install unicodedata2==16.0.0 && python3 tools/make_categories.py

Unicode 16.0 is what the regular expressions of tokenizers 0.23 and tiktoken 0.14 know; another
version would cut text with newer characters into other tokens than they do.
"""

import pathlib

import unicodedata2

VERSION = "16.0.0"
# The order of enum Category in categories.h.
NAMES = "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Cs Co Cn"
HEAD = f"""// Written by tools/make_categories.py from Unicode {VERSION}.
#include "data/tokenizer/internal/categories.h"

namespace kedge::data {{
namespace {{

// Where each range begins, shifted left by 8 bits, and its category.
constexpr std::uint32_t kRanges[] = {{
"""
TAIL = """};

}  // namespace

std::span<const std::uint32_t> category_ranges() { return kRanges; }

}  // namespace kedge::data
"""


def ranges() -> list[int]:
    order = NAMES.split()
    found = []
    before = None
    for code in range(0x110000):
        category = unicodedata2.category(chr(code))
        if category != before:
            found.append(code << 8 | order.index(category))
            before = category
    return found


def main() -> None:
    if unicodedata2.unidata_version != VERSION:
        raise SystemExit(f"this is Unicode {unicodedata2.unidata_version}, not {VERSION}")
    words = [f"0x{word:X}," for word in ranges()]
    lines = [""]
    for word in words:
        if len(lines[-1]) + len(word) + 1 > 97:
            lines.append("")
        lines[-1] += " " + word
    body = "".join(f"   {line}\n" for line in lines)
    target = pathlib.Path(__file__).parents[1] / "src/data/tokenizer/internal/categories.cc"
    target.write_text(HEAD + body + TAIL)


if __name__ == "__main__":
    main()
