#include <algorithm>
#include <cstddef>
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
#include "data/internal/missing.h"
#include "data/internal/text_stream.h"

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

Result<std::unique_ptr<SourceSplits>> open_text(const config::DataConfig& config) {
  const TextFiles files = KEDGE_TRY(find_text_files(config.path));
  if (files.train.empty()) {
    return std::unexpected(missing_data(config, ".txt or .jsonl files"));
  }
  auto splits = std::make_unique<SourceSplits>();
  splits->train = std::make_unique<TextWindows>(KEDGE_TRY(TextStream::open(files.train, config)),
                                                "train", config.context);
  if (!files.test.empty()) {
    splits->test = std::make_unique<TextWindows>(KEDGE_TRY(TextStream::open(files.test, config)),
                                                 "test", config.context);
  }
  return splits;
}

const Sources::Add kAddText({"text",
                             "bytes of .txt and .jsonl files for language models (data.context, "
                             "data.text_field)",
                             open_text,
                             {"path", "context", "text_field"}});

}  // namespace
}  // namespace kedge::data
