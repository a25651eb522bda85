#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "config/data_config.h"
#include "core/file.h"
#include "core/hash.h"
#include "core/result.h"
#include "data/dataset.h"
#include "data/internal/missing.h"

namespace kedge::data {
namespace {

using Token = std::uint16_t;

// Windows of context + 1 ids that begin every `context` ids, out of a file of 16-bit numbers.
class TokenWindows : public Dataset {
 public:
  TokenWindows(MappedFile file, std::string part, std::int64_t context)
      : file_(std::move(file)), part_(std::move(part)), context_(context) {
    info_.fields = token_fields(context);
    size_ = std::max<std::int64_t>(0, (count() - 1) / context);
    Digest digest;
    digest.add(fmt::format("tokens {} ", context));
    digest.add(file_.bytes());
    digest_ = digest.text();
  }

  const DatasetInfo& info() const override { return info_; }

  std::int64_t size() const override { return size_; }

  std::int64_t label(std::int64_t) const override { return 0; }

  std::string name(std::int64_t index) const override {
    return fmt::format("{}/token {}", part_, index * context_);
  }

  Result<void> read(std::int64_t index, Sample& sample) const override {
    std::int64_t position = index * context_;
    for (std::int32_t& id : sample.row<std::int32_t>(0, context_ + 1)) {
      id = at(position++);
    }
    return {};
  }

  std::string digest() const override { return digest_; }

  std::int64_t largest() const {
    std::int64_t most = 0;
    for (std::int64_t i = 0; i < count(); ++i) {
      most = std::max<std::int64_t>(most, at(i));
    }
    return most;
  }

  void set_vocab(std::int64_t vocab) { info_.vocab = vocab; }

 private:
  std::int64_t count() const {
    return static_cast<std::int64_t>(file_.bytes().size() / sizeof(Token));
  }

  Token at(std::int64_t position) const {
    Token token = 0;
    std::memcpy(&token, file_.bytes().data() + static_cast<std::size_t>(position) * sizeof token,
                sizeof token);
    return token;
  }

  MappedFile file_;
  std::string part_;
  std::int64_t context_;
  DatasetInfo info_;
  std::int64_t size_ = 0;
  std::string digest_;
};

// meta.json may ask for more ids than the files use: kernels like round numbers.
Result<std::optional<std::int64_t>> read_vocab(const Path& folder) {
  const Path path = folder / "meta.json";
  if (!std::filesystem::exists(path)) {
    return std::nullopt;
  }
  const auto meta = nlohmann::json::parse(KEDGE_TRY(read_file(path)), nullptr, false);
  if (!meta.is_object() || !meta.contains("vocab") || !meta["vocab"].is_number_integer()) {
    return fail(ErrorKind::Corrupt, fmt::format("{}: no whole number \"vocab\"", path.string()),
                "write {\"vocab\": 50304}, say, or remove the file");
  }
  return meta["vocab"].get<std::int64_t>();
}

Result<std::unique_ptr<TokenWindows>> open_part(const Path& path, std::string part,
                                                std::int64_t context) {
  MappedFile file = KEDGE_TRY(MappedFile::open(path));
  if (file.bytes().size() % sizeof(Token) != 0) {
    return fail(ErrorKind::Corrupt,
                fmt::format("{}: {} bytes are no whole number of 16-bit ids", path.string(),
                            file.bytes().size()),
                "write it again as unsigned 16-bit numbers (numpy's uint16)");
  }
  return std::make_unique<TokenWindows>(std::move(file), std::move(part), context);
}

Result<std::unique_ptr<SourceSplits>> open_tokens(const config::DataConfig& config) {
  const Path folder = config.path;
  if (!std::filesystem::exists(folder / "train.bin")) {
    return std::unexpected(missing_data(config, "train.bin, and val.bin if there is one"));
  }
  auto train = KEDGE_TRY(open_part(folder / "train.bin", "train", config.context));
  std::unique_ptr<TokenWindows> val;
  if (std::filesystem::exists(folder / "val.bin")) {
    val = KEDGE_TRY(open_part(folder / "val.bin", "val", config.context));
  }
  const std::int64_t used = 1 + std::max(train->largest(), val ? val->largest() : 0);
  const std::int64_t vocab = KEDGE_TRY(read_vocab(folder)).value_or(used);
  if (vocab < used) {
    return fail(ErrorKind::Corrupt,
                fmt::format("{}: an id is {}, but meta.json says the vocabulary has {}",
                            folder.string(), used - 1, vocab),
                "raise \"vocab\" in meta.json, or write the files again");
  }
  train->set_vocab(vocab);
  auto splits = std::make_unique<SourceSplits>();
  splits->train = std::move(train);
  if (val) {
    val->set_vocab(vocab);
    splits->test = std::move(val);
  }
  return splits;
}

const Sources::Add kAddTokens({"tokens",
                               "ids of a tokenizer for language models: train.bin and val.bin of "
                               "unsigned 16-bit numbers, meta.json with \"vocab\" (data.context)",
                               open_tokens});

}  // namespace
}  // namespace kedge::data
