// Text files to a folder of token files that `data.name: tokens` trains on
// (docs/formats/tokens.md). Documents keep their order; the same input gives the same bytes,
// whatever the number of threads and however often the work was interrupted.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/file.h"
#include "core/result.h"
#include "data/tokenizer/tokenizer.h"

namespace kedge::data {

struct TokenizeOptions {
  std::vector<Path> inputs;  // files in order: *.jsonl is a record a line, others a text each
  Path out;
  std::string field = "text";       // of a record: what is tokenized
  std::optional<TokenId> end = {};  // put after each document
  double val = 0;                   // the fraction of documents that goes into val.bin
  unsigned threads = 1;
  // How much input may have to be tokenized again after a kill: so often the files are synced.
  std::uint64_t unsaved_bytes = std::uint64_t{64} << 20U;
};

struct TokenizeReport {
  std::uint64_t bytes = 0;  // of input
  std::uint64_t train_tokens = 0;
  std::uint64_t val_tokens = 0;
  std::uint64_t documents = 0;
  std::uint64_t empty = 0;       // records and files without text; left out
  std::uint64_t rejected = 0;    // records that could not be read: a line each in rejected.jsonl
  std::uint64_t replaced = 0;    // U+FFFD in place of bytes that were no UTF-8
  std::uint64_t first_byte = 0;  // where this run began; not 0 when it resumed another
};

// The files of `path`: itself, or those of a folder that end in .jsonl, .txt, .md or .text, with
// those of its folders, sorted. NotFound names the path.
Result<std::vector<Path>> list_texts(const Path& path);

// `progress` is called now and then with what is done; `total` is the size of all inputs. A run
// that was cut short is resumed when its inputs and options are the same; Usage when they are not,
// or the folder holds tokens already.
Result<TokenizeReport> tokenize(
    const Tokenizer& tokenizer, const TokenizeOptions& options,
    const std::function<void(const TokenizeReport& done, std::uint64_t total)>& progress);

}  // namespace kedge::data
