#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "config/data_config.h"
#include "core/hash.h"
#include "core/result.h"
#include "data/dataset.h"
#include "data/internal/chat_tokens.h"
#include "data/internal/conversation.h"
#include "data/internal/missing.h"
#include "data/internal/record_documents.h"
#include "data/internal/text_stream.h"
#include "data/internal/token_notes.h"

namespace kedge::data {
namespace {

// Documents 2 i and 2 i + 1 are the preferred and the other text of sample i.
class Pairs : public Dataset {
 public:
  Pairs(RecordDocuments read, const WindowMaking& making)
      : documents_(std::move(read.documents)),
        files_(making.files),
        context_(making.config.context) {
    info_.fields = {
        {.name = std::string(kPairTokens), .type = FieldType::I32, .shape = {2, context_ + 1}},
        {.name = std::string(kPairMask), .shape = {2, context_}}};
    info_.vocab = making.format.tokenizer.vocab();
    info_.tokenizer = making.format.tokenizer;
    info_.notes = {fmt::format("records  pairs: {}", read.counts.describe())};
    Digest digest;
    digest.add(fmt::format("pairs {} {}", context_, name_making(making.format, making.config)));
    documents_.add_to(digest);
    digest_ = digest.text();
  }

  const DatasetInfo& info() const override { return info_; }

  std::int64_t size() const override { return static_cast<std::int64_t>(documents_.size() / 2); }

  std::int64_t label(std::int64_t) const override { return 0; }

  std::string name(std::int64_t index) const override {
    return describe_place(files_, documents_.place(static_cast<std::size_t>(2 * index)));
  }

  Result<void> read(std::int64_t index, Sample& sample) const override {
    const auto tokens = sample.row<std::int32_t>(0, 2 * (context_ + 1));
    const auto mask = sample.row<std::uint8_t>(1, 2 * context_);
    std::ranges::fill(tokens, 0);
    std::ranges::fill(mask, std::uint8_t{0});
    const auto context = static_cast<std::size_t>(context_);
    for (std::size_t side = 0; side < 2; ++side) {
      const std::size_t document = 2 * static_cast<std::size_t>(index) + side;
      lay_document(documents_.ids(document), documents_.marks(document),
                   tokens.subspan(side * (context + 1)), mask.subspan(side * context));
    }
    return {};
  }

  std::string digest() const override { return digest_; }

 private:
  TokenDocuments documents_;
  std::vector<std::string> files_;
  std::int64_t context_;
  DatasetInfo info_;
  std::string digest_;
};

class PairReader : public RecordReader {
 public:
  PairReader(const ChatFormat& format, const config::DataConfig& config)
      : config_(config), encoder_(format, config::TrainOn::Assistant) {}

  Result<ReadRecord> read(const RawRecord& record, DocumentPlace place,
                          TokenDocuments& documents) override {
    const PreferencePair pair = KEDGE_TRY(read_preference(KEDGE_TRY(parse_record(record.text))));
    MarkedTokens chosen = KEDGE_TRY(encoder_.encode(pair.chosen));
    MarkedTokens rejected = KEDGE_TRY(encoder_.encode(pair.rejected));
    const ReadRecord first = fit_document(config_, chosen.ids, chosen.marks);
    const ReadRecord second = fit_document(config_, rejected.ids, rejected.marks);
    // The worse of the two ends is that of the pair.
    const ReadRecord read{.end = std::max(first.end, second.end),
                          .tokens = std::max(first.tokens, second.tokens)};
    if (read.end == RecordEnd::Used || read.end == RecordEnd::Cut) {
      documents.add(chosen.ids, chosen.marks, place);
      documents.add(rejected.ids, rejected.marks, place);
    }
    return read;
  }

 private:
  const config::DataConfig& config_;
  ChatEncoder encoder_;
};

Result<std::unique_ptr<Dataset>> open_part(const std::vector<Path>& paths, const ChatFormat& format,
                                           const config::DataConfig& config) {
  const std::vector<RecordFile> files = KEDGE_TRY(open_record_files(paths));
  RecordDocuments read = KEDGE_TRY(
      read_records(files, config, [&] { return std::make_unique<PairReader>(format, config); }));
  return std::make_unique<Pairs>(
      std::move(read),
      WindowMaking{.format = format, .config = config, .files = names_of(files), .kind = {}});
}

Result<std::unique_ptr<SourceSplits>> open_preference(const config::DataConfig& config) {
  const TextFiles files = KEDGE_TRY(find_text_files(config.path, {".jsonl", ".json"}));
  if (files.train.empty()) {
    return std::unexpected(missing_data(config, ".jsonl or .json files"));
  }
  const ChatFormat format = KEDGE_TRY(open_chat_format(config));
  auto splits = std::make_unique<SourceSplits>();
  splits->train = KEDGE_TRY(open_part(files.train, format, config));
  if (!files.test.empty()) {
    splits->test = KEDGE_TRY(open_part(files.test, format, config));
  }
  return splits;
}

const Sources::Add kAddPreference(
    {"preference",
     "pairs of answers of which one is preferred, for loss.name=dpo: .jsonl or .json files of "
     "{prompt, chosen, rejected} with texts or messages (data.tokenizer, data.chat_template, "
     "data.context, data.too_long)",
     open_preference,
     {"path", "context", "tokenizer", "chat_template", "too_long"}});

}  // namespace
}  // namespace kedge::data
