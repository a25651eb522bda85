// Files of records to documents of tokens, on all cores, with what is left out counted and said.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "config/data_config.h"
#include "core/file.h"
#include "core/result.h"
#include "data/internal/record_file.h"
#include "data/internal/token_documents.h"

namespace kedge::data {

// What became of a record.
enum class RecordEnd : std::uint8_t {
  Used,
  Cut,       // used, without its end
  TooLong,   // nothing was added
  Unlearnt,  // nothing was added: none of its tokens would count
};

struct ReadRecord {
  RecordEnd end = RecordEnd::Used;
  std::size_t tokens = 0;  // before it was cut
  std::size_t most = 0;    // that there may be
};

// For one thread.
class RecordReader {
 public:
  virtual ~RecordReader() = default;

  // Adds the record's documents. An error says what is wrong with it, without its place.
  virtual Result<ReadRecord> read(const RawRecord& record, DocumentPlace place,
                                  TokenDocuments& documents) = 0;
};

struct RecordCounts {
  std::int64_t used = 0;
  std::int64_t cut = 0;
  std::int64_t too_long = 0;
  std::int64_t unlearnt = 0;
  std::int64_t broken = 0;
  std::string first_broken = {};  // with its place and what is wrong

  void add(const RecordCounts& others);

  // "1,200 records, 3 of them cut; left out: 2 too long, 1 broken (a.jsonl:7: not JSON)"
  std::string describe() const;
};

struct RecordDocuments {
  TokenDocuments documents;
  RecordCounts counts;
};

// In the order of the files. Corrupt or Usage, with the record's place: as config.on_error and
// config.too_long ask for.
Result<RecordDocuments> read_records(const std::vector<RecordFile>& files,
                                     const config::DataConfig& config,
                                     const std::function<std::unique_ptr<RecordReader>()>& make);

// The longest document: the last token is only predicted.
std::size_t most_tokens(const config::DataConfig& config);

// Cuts a document as config.too_long asks for; it may be TooLong or Unlearnt then.
ReadRecord fit_document(const config::DataConfig& config, std::vector<TokenId>& ids,
                        std::vector<std::uint8_t>& marks);

// A .txt file is one record.
Result<std::vector<RecordFile>> open_record_files(const std::vector<Path>& paths);
std::vector<std::string> names_of(const std::vector<RecordFile>& files);

}  // namespace kedge::data
