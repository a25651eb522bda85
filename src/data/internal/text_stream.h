// Text files as one long row of bytes, memory-mapped where the file is the text. A zero byte
// stands between files and between JSONL records.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "config/data_config.h"
#include "core/file.h"
#include "core/hash.h"
#include "core/result.h"

namespace kedge::data {

struct TextFiles {
  std::vector<Path> train;
  std::vector<Path> test;
};

// One file, or every file below a folder whose name ends in one of `endings`, sorted. A file or top
// folder called val, valid, validation or test belongs to the test split.
Result<TextFiles> find_text_files(const Path& path,
                                  const std::vector<std::string>& endings = {".txt", ".jsonl"});

class TextStream {
 public:
  static Result<TextStream> open(const std::vector<Path>& files, const config::DataConfig& config);

  std::int64_t size() const { return size_; }

  // The bytes from `start` as token ids; start + tokens.size() <= size().
  void copy(std::int64_t start, std::span<std::int32_t> tokens) const;

  void add_to(Digest& digest) const;

 private:
  struct Piece {
    std::int64_t start;  // in the stream
    MappedFile mapped;   // one of the two is used
    std::string text;

    std::span<const std::uint8_t> bytes() const {
      return text.empty() ? mapped.bytes() : as_bytes(text);
    }
  };

  void add(MappedFile mapped, std::string text);

  std::vector<Piece> pieces_;  // none is empty
  std::int64_t size_ = 0;
};

}  // namespace kedge::data
