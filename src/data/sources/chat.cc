#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "config/data_config.h"
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

using config::RecordFormat;

// By the first record that is one; Auto where none is, so that each is told what is wrong with it.
RecordFormat find_format(const RecordFile& file, RecordFormat wanted) {
  if (wanted != RecordFormat::Auto) {
    return wanted;
  }
  for (const RawRecord& raw : file.records()) {
    if (const auto record = parse_record(raw.text)) {
      return detect_format(*record).value_or(RecordFormat::Auto);
    }
  }
  return RecordFormat::Auto;
}

class ChatReader : public RecordReader {
 public:
  ChatReader(const ChatFormat& format, const config::DataConfig& config,
             const std::vector<RecordFormat>& formats)
      : config_(config), formats_(formats), encoder_(format, config.train_on) {}

  Result<ReadRecord> read(const RawRecord& record, DocumentPlace place,
                          TokenDocuments& documents) override {
    const ChatJson json = KEDGE_TRY(parse_record(record.text));
    const Conversation conversation = KEDGE_TRY(read_conversation(json, formats_[place.file]));
    MarkedTokens tokens = KEDGE_TRY(encoder_.encode(conversation));
    const ReadRecord read = fit_document(config_, tokens.ids, tokens.marks);
    if (read.end == RecordEnd::Used || read.end == RecordEnd::Cut) {
      documents.add(tokens.ids, tokens.marks, place);
    }
    return read;
  }

 private:
  const config::DataConfig& config_;
  const std::vector<RecordFormat>& formats_;
  ChatEncoder encoder_;
};

std::string name_formats(const std::vector<RecordFormat>& formats) {
  std::set<std::string_view> names;
  for (const RecordFormat format : formats) {
    names.insert(enum_names(format).at(static_cast<std::size_t>(format)));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

Result<std::unique_ptr<Dataset>> open_part(const std::vector<Path>& paths, const ChatFormat& format,
                                           const config::DataConfig& config) {
  const std::vector<RecordFile> files = KEDGE_TRY(open_record_files(paths));
  std::vector<RecordFormat> formats;
  for (const RecordFile& file : files) {
    formats.push_back(find_format(file, config.format));
  }
  RecordDocuments read = KEDGE_TRY(read_records(
      files, config, [&] { return std::make_unique<ChatReader>(format, config, formats); }));
  return make_windows(std::move(read), {.format = format,
                                        .config = config,
                                        .files = names_of(files),
                                        .kind = name_formats(formats)});
}

Result<std::unique_ptr<SourceSplits>> open_chat(const config::DataConfig& config) {
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

const Sources::Add kAddChat(
    {"chat",
     "instruction data for language models: .jsonl or .json files of alpaca, sharegpt, messages or "
     "prompt/completion records, as the model's chat template renders them (data.tokenizer, "
     "data.chat_template, data.format, data.train_on, data.context, data.too_long, data.pack)",
     open_chat,
     {"path", "context", "tokenizer", "chat_template", "format", "train_on", "too_long", "pack"}});

}  // namespace
}  // namespace kedge::data
