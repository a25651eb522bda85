#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "config/data_config.h"
#include "core/hash.h"
#include "core/result.h"
#include "data/chat/chat_format.h"
#include "data/dataset.h"
#include "data/internal/chat_tokens.h"
#include "data/internal/conversation.h"
#include "data/internal/missing.h"
#include "data/internal/record_documents.h"
#include "data/internal/text_stream.h"
#include "data/internal/token_notes.h"

namespace kedge::data {
namespace {

// Windows of context + 1 bytes that begin every `context` bytes: each byte but the first is
// predicted exactly once.
class TextWindows : public Dataset {
 public:
  TextWindows(TextStream stream, std::string part, std::int64_t context)
      : stream_(std::move(stream)), part_(std::move(part)), context_(context) {
    info_.fields = token_fields(context);
    info_.vocab = 256;
    size_ = std::max<std::int64_t>(0, (stream_.size() - 1) / context);
    Digest digest;
    digest.add(fmt::format("text {} ", context));
    stream_.add_to(digest);
    digest_ = digest.text();
  }

  const DatasetInfo& info() const override { return info_; }

  std::int64_t size() const override { return size_; }

  std::int64_t label(std::int64_t) const override { return 0; }

  std::string name(std::int64_t index) const override {
    return fmt::format("{}/byte {}", part_, index * context_);
  }

  Result<void> read(std::int64_t index, Sample& sample) const override {
    stream_.copy(index * context_, sample.row<std::int32_t>(0, context_ + 1));
    return {};
  }

  std::string digest() const override { return digest_; }

 private:
  TextStream stream_;
  std::string part_;
  std::int64_t context_;
  DatasetInfo info_;
  std::int64_t size_ = 0;
  std::string digest_;
};

// One text a document: a record's field, or a file.
class TextReader : public RecordReader {
 public:
  TextReader(const ChatFormat& format, const config::DataConfig& config)
      : config_(config), around_(find_around(format)), encoder_(format.tokenizer) {
    if (around_.after.empty()) {
      const auto end = format.tokenizer.find_end_of_text();
      around_.after.assign(1, end ? *end : format.eos.value_or(kNoToken));
      std::erase(around_.after, kNoToken);
    }
  }

  Result<ReadRecord> read(const RawRecord& record, DocumentPlace place,
                          TokenDocuments& documents) override {
    std::vector<TokenId> ids = around_.before;
    if (place.line == 0) {
      encoder_.encode(record.text, ids);
    } else {
      encoder_.encode(KEDGE_TRY(read_field(record.text)), ids);
    }
    if (ids.size() == around_.before.size()) {
      return ReadRecord{.end = RecordEnd::Unlearnt};
    }
    ids.insert(ids.end(), around_.after.begin(), around_.after.end());
    if (ids.size() < 2) {
      return ReadRecord{.end = RecordEnd::Unlearnt};
    }
    documents.add_in_pieces(ids, most_tokens(config_), place);
    return ReadRecord{.tokens = ids.size()};
  }

 private:
  Result<std::string> read_field(std::string_view text) const {
    const ChatJson record = KEDGE_TRY(parse_record(text));
    const auto found = record.find(config_.text_field);
    if (found == record.end() || !found->is_string()) {
      return fail(ErrorKind::Corrupt, fmt::format("no text in the field '{}'", config_.text_field),
                  "correct the record, set data.text_field, or set data.on_error: skip");
    }
    return found->get<std::string>();
  }

  const config::DataConfig& config_;
  AroundText around_;
  TokenEncoder encoder_;
};

Result<std::unique_ptr<Dataset>> open_tokenized(const std::vector<Path>& paths,
                                                const config::DataConfig& config) {
  const ChatFormat format = KEDGE_TRY(load_chat_format(config.tokenizer));
  const std::vector<RecordFile> files = KEDGE_TRY(open_record_files(paths));
  RecordDocuments read = KEDGE_TRY(
      read_records(files, config, [&] { return std::make_unique<TextReader>(format, config); }));
  return make_windows(
      std::move(read),
      {.format = format, .config = config, .files = names_of(files), .kind = "text"});
}

Result<std::unique_ptr<Dataset>> open_bytes(const std::vector<Path>& paths, std::string part,
                                            const config::DataConfig& config) {
  return std::make_unique<TextWindows>(KEDGE_TRY(TextStream::open(paths, config)), std::move(part),
                                       config.context);
}

Result<std::unique_ptr<SourceSplits>> open_text(const config::DataConfig& config) {
  const TextFiles files = KEDGE_TRY(find_text_files(config.path));
  if (files.train.empty()) {
    return std::unexpected(missing_data(config, ".txt or .jsonl files"));
  }
  if (config.tokenizer.empty() && !config.pack) {
    return fail(ErrorKind::Usage, "data.pack=false needs data.tokenizer: bytes are one long row",
                "set data.tokenizer to a model's folder, .gguf file or tokenizer.json");
  }
  const auto open_part = [&](const std::vector<Path>& paths, std::string part) {
    return config.tokenizer.empty() ? open_bytes(paths, std::move(part), config)
                                    : open_tokenized(paths, config);
  };
  auto splits = std::make_unique<SourceSplits>();
  splits->train = KEDGE_TRY(open_part(files.train, "train"));
  if (!files.test.empty()) {
    splits->test = KEDGE_TRY(open_part(files.test, "test"));
  }
  return splits;
}

const Sources::Add kAddText(
    {"text",
     "bytes of .txt and .jsonl files for language models (data.context, data.text_field); with "
     "data.tokenizer the tokens of each record or file, packed (data.pack)",
     open_text,
     {"path", "context", "text_field", "tokenizer", "pack"}});

}  // namespace
}  // namespace kedge::data
