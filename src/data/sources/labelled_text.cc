#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "config/data_config.h"
#include "core/hash.h"
#include "core/result.h"
#include "core/units.h"
#include "data/chat/chat_format.h"
#include "data/dataset.h"
#include "data/internal/conversation.h"
#include "data/internal/missing.h"
#include "data/internal/record_documents.h"
#include "data/internal/text_stream.h"
#include "data/internal/token_notes.h"
#include "data/text_encoder.h"

namespace kedge::data {
namespace {

// The class of each record by its place. Filled by the threads that read.
class Labels {
 public:
  void add(DocumentPlace place, std::string label) {
    const std::lock_guard lock(mutex_);
    labels_.emplace(std::pair(place.file, place.line), std::move(label));
  }

  const std::string& at(DocumentPlace place) const {
    return labels_.at(std::pair(place.file, place.line));
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::string> labels_;
};

class LabelledReader : public RecordReader {
 public:
  LabelledReader(const ChatFormat& format, const config::DataConfig& config, Labels& labels)
      : config_(config), labels_(labels), encoder_(format.tokenizer, config.context) {}

  Result<ReadRecord> read(const RawRecord& raw, DocumentPlace place,
                          TokenDocuments& documents) override {
    const ChatJson record = KEDGE_TRY(parse_record(raw.text));
    const ChatJson text = KEDGE_TRY(field_of(record, config_.text_field, "data.text_field"));
    const ChatJson label = KEDGE_TRY(field_of(record, config_.label_field, "data.label_field"));
    if (!text.is_string() || !(label.is_string() || label.is_number_integer())) {
      return fail(ErrorKind::Corrupt,
                  fmt::format("the text must be text, and the label text or a whole number; they "
                              "are {} and {}",
                              text.type_name(), label.dump()));
    }
    const EncodedText encoded = encoder_.encode(text.get<std::string>());
    ReadRecord made{.tokens = encoded.tokens, .most = static_cast<std::size_t>(config_.context)};
    if (encoded.ids.empty()) {
      made.end = RecordEnd::Unlearnt;
      return made;
    }
    if (encoded.is_cut()) {
      made.end = config_.too_long == config::TooLong::Cut ? RecordEnd::Cut : RecordEnd::TooLong;
    }
    if (made.end == RecordEnd::TooLong) {
      return made;
    }
    documents.add(encoded.ids, std::vector<std::uint8_t>(encoded.ids.size(), 1), place);
    labels_.add(place, label.is_string() ? label.get<std::string>() : label.dump());
    return made;
  }

 private:
  static Result<ChatJson> field_of(const ChatJson& record, const std::string& field,
                                   std::string_view key) {
    const auto found = record.find(field);
    if (found == record.end()) {
      return fail(ErrorKind::Corrupt, fmt::format("there is no field '{}'", field),
                  fmt::format("correct the record, set {}, or leave such records out with "
                              "data.on_error=skip",
                              key));
    }
    return Result<ChatJson>(std::in_place, *found);
  }

  const config::DataConfig& config_;
  Labels& labels_;
  TextEncoder encoder_;
};

// Texts of up to `context` tokens, padded: padding is a document of its own, so that no token sees
// it, and of any id.
class LabelledTexts : public Dataset {
 public:
  LabelledTexts(TokenDocuments documents, std::vector<std::int64_t> labels, DatasetInfo info,
                std::vector<std::string> files, std::string_view making)
      : documents_(std::move(documents)),
        labels_(std::move(labels)),
        info_(std::move(info)),
        files_(std::move(files)),
        context_(info_.fields.front().shape.front()) {
    Digest digest;
    digest.add(fmt::format("labelled_text {} {} {} ", context_, making,
                           fmt::join(info_.class_names, ",")));
    documents_.add_to(digest);
    for (const std::int64_t label : labels_) {
      digest.add(fmt::format("{} ", label));
    }
    digest_ = digest.text();
  }

  const DatasetInfo& info() const override { return info_; }

  std::int64_t size() const override { return static_cast<std::int64_t>(documents_.size()); }

  std::int64_t label(std::int64_t index) const override {
    return labels_[static_cast<std::size_t>(index)];
  }

  std::string name(std::int64_t index) const override {
    return describe_place(files_, documents_.place(static_cast<std::size_t>(index)));
  }

  Result<void> read(std::int64_t index, Sample& sample) const override {
    const auto ids = documents_.ids(static_cast<std::size_t>(index));
    const auto tokens = sample.row<std::int32_t>(0, context_);
    const auto rest = std::ranges::copy(ids, tokens.begin()).out;
    std::fill(rest, tokens.end(), 0);
    const auto documents = sample.row<std::int32_t>(1, context_);
    std::fill_n(documents.begin(), ids.size(), 0);
    std::fill(documents.begin() + static_cast<std::ptrdiff_t>(ids.size()), documents.end(), 1);
    return {};
  }

  std::string digest() const override { return digest_; }

 private:
  TokenDocuments documents_;
  std::vector<std::int64_t> labels_;
  DatasetInfo info_;
  std::vector<std::string> files_;
  std::int64_t context_;
  std::string digest_;
};

// What was read of a part, before it is known which classes there are.
struct Part {
  RecordDocuments read;
  std::vector<std::string> labels;  // of its documents
  std::vector<std::string> files;
  std::vector<std::string> paths;  // of these
};

Result<Part> read_part(const std::vector<Path>& paths, const ChatFormat& format,
                       const config::DataConfig& config) {
  const std::vector<RecordFile> files = KEDGE_TRY(open_record_files(paths));
  Labels labels;
  Part part{
      .read = KEDGE_TRY(read_records(
          files, config, [&] { return std::make_unique<LabelledReader>(format, config, labels); })),
      .labels = {},
      .files = names_of(files),
      .paths = {}};
  for (const RecordFile& file : files) {
    part.paths.push_back(file.path().string());
  }
  for (std::size_t i = 0; i < part.read.documents.size(); ++i) {
    part.labels.push_back(labels.at(part.read.documents.place(i)));
  }
  return part;
}

std::optional<std::int64_t> as_number(const std::string& text) {
  std::int64_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  return parsed.ec == std::errc{} && parsed.ptr == text.data() + text.size() ? std::optional(number)
                                                                             : std::nullopt;
}

// Sorted; numbers by their value.
std::vector<std::string> classes_of(const std::vector<std::string>& labels) {
  const std::set<std::string> unique(labels.begin(), labels.end());
  std::vector<std::string> names(unique.begin(), unique.end());
  const bool are_numbers =
      std::ranges::all_of(names, [](const auto& name) { return as_number(name).has_value(); });
  if (are_numbers) {
    std::ranges::sort(names, {}, [](const auto& name) { return *as_number(name); });
  }
  return names;
}

Result<std::unique_ptr<Dataset>> make_dataset(Part part, const std::vector<std::string>& classes,
                                              const ChatFormat& format,
                                              const config::DataConfig& config) {
  std::vector<std::int64_t> labels;
  for (std::size_t i = 0; i < part.labels.size(); ++i) {
    const auto found = std::ranges::find(classes, part.labels[i]);
    if (found == classes.end()) {
      return fail(
          ErrorKind::Usage,
          fmt::format("{}: no training text has the label '{}'",
                      describe_place(part.paths, part.read.documents.place(i)), part.labels[i]));
    }
    labels.push_back(found - classes.begin());
  }
  DatasetInfo info;
  info.fields = {
      {.name = std::string(kTokens), .type = FieldType::I32, .shape = {config.context}},
      {.name = std::string(kDocuments), .type = FieldType::I32, .shape = {config.context}},
      {.name = std::string(kLabel), .type = FieldType::I64}};
  info.class_names = classes;
  info.vocab = format.tokenizer.vocab();
  info.tokenizer = format.tokenizer;
  info.notes.push_back(
      fmt::format("records  {}; {} classes; {} tokens", part.read.counts.describe(), classes.size(),
                  render_grouped(static_cast<std::uint64_t>(part.read.documents.token_count()))));
  return std::make_unique<LabelledTexts>(std::move(part.read.documents), std::move(labels),
                                         std::move(info), std::move(part.files),
                                         name_making(format, config));
}

Result<std::unique_ptr<SourceSplits>> open_labelled(const config::DataConfig& config) {
  const TextFiles files = KEDGE_TRY(find_text_files(config.path, {".jsonl", ".json"}));
  if (files.train.empty()) {
    return std::unexpected(missing_data(config, ".jsonl or .json files of {\"text\", \"label\"}"));
  }
  if (config.tokenizer.empty()) {
    return fail(ErrorKind::Usage, "data.name=labelled_text needs data.tokenizer",
                "name a model's folder or its tokenizer.json; an encoder's folder as model.file "
                "brings its own");
  }
  const ChatFormat format = KEDGE_TRY(load_chat_format(config.tokenizer));
  Part train = KEDGE_TRY(read_part(files.train, format, config));
  const std::vector<std::string> classes = classes_of(train.labels);
  auto splits = std::make_unique<SourceSplits>();
  splits->train = KEDGE_TRY(make_dataset(std::move(train), classes, format, config));
  if (!files.test.empty()) {
    splits->test = KEDGE_TRY(
        make_dataset(KEDGE_TRY(read_part(files.test, format, config)), classes, format, config));
  }
  return splits;
}

const Sources::Add kAddLabelledText(
    {"labelled_text",
     "texts with a class each, for encoders: .jsonl or .json files of records with a text and a "
     "label (data.text_field, data.label_field), in the model's tokens (data.tokenizer, "
     "data.context, data.too_long)",
     open_labelled,
     {"path", "context", "text_field", "label_field", "tokenizer", "too_long"}});

}  // namespace
}  // namespace kedge::data
