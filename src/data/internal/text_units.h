// Text files cut into units of work: a stretch of a JSONL file or a whole text file. Where they are
// cut depends on the files alone.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/file.h"
#include "core/result.h"

namespace kedge::data {

struct TextFile {
  Path path;
  std::uint64_t size = 0;
  bool has_records = false;  // *.jsonl
};

// The lines that begin in [begin, end) of a file of records; all of another.
struct TextUnit {
  std::uint64_t number = 0;
  std::size_t file = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  bool ends_file(const TextFile& of) const { return end == of.size; }
};

inline constexpr std::uint64_t kUnitBytes = std::uint64_t{2} << 20U;

// Usage when there is none, NotFound or Io when one cannot be read.
Result<std::vector<TextFile>> look_at_texts(const std::vector<Path>& paths);

// The unit after `last`; the first where there is none; nothing after the last.
std::optional<TextUnit> next_unit(const std::vector<TextFile>& files,
                                  const std::optional<TextUnit>& last);

struct TextTaker {
  // A document's text, and where it begins in its file.
  std::function<void(std::string_view text, std::uint64_t offset)> document;
  // A record that cannot be read: its line, counted from 0 in the unit.
  std::function<void(std::uint64_t line, std::uint64_t offset, std::string reason)> rejected;
};

struct UnitFacts {
  std::uint64_t lines = 0;
  std::uint64_t replaced = 0;  // U+FFFD in place of bytes that were no UTF-8, in records
};

// Reads a unit and gives `take` its documents in order.
Result<UnitFacts> read_unit(const TextFile& file, const TextUnit& unit, std::string_view field,
                            const TextTaker& take);

}  // namespace kedge::data
