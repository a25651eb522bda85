// One column of a chunk: 64-bit words as residuals of a filter, cut into byte planes. A plane of
// one byte (mostly zero: steps have a stride, and float32 values widened to double end in zeros)
// costs next to nothing, one without order is stored, and the others are compressed.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/byte_reader.h"

namespace kedge::store {

enum class ColumnKind : std::uint8_t { Integers, Doubles };

// Tries the filters of its kind and keeps the shortest.
void append_column(std::string& out, ColumnKind kind, std::span<const std::uint64_t> words);

// Fills `words`. False: the bytes are no column of this length.
bool read_column(ByteReader& reader, std::span<std::uint64_t> words);

// Goes to the end of a column without unpacking it.
bool skip_column(ByteReader& reader, std::size_t count);

}  // namespace kedge::store
