// A file of JSON records, taken apart but not read: one a line (.jsonl), or the members of one list
// (.json). Which it is, its first character says.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/file.h"
#include "core/result.h"

namespace kedge::data {

struct RawRecord {
  std::string_view text;
  std::uint32_t line = 0;  // where it begins, from 1
};

class RecordFile {
 public:
  // Corrupt: a list that does not end, or has no commas.
  static Result<RecordFile> open(const Path& path);

  // The whole file as one record, at line 0: its bytes are no JSON.
  static Result<RecordFile> open_whole(const Path& path);

  // They point into the file.
  const std::vector<RawRecord>& records() const { return records_; }

  const Path& path() const { return path_; }

 private:
  std::string_view text() const {
    const auto bytes = file_.bytes();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  Path path_;
  MappedFile file_;
  std::vector<RawRecord> records_;
};

// The records of a text: what open() does. `where` is for messages.
Result<std::vector<RawRecord>> split_records(std::string_view text, std::string_view where);

}  // namespace kedge::data
