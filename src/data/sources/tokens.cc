#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "config/data_config.h"
#include "core/file.h"
#include "core/hash.h"
#include "core/log.h"
#include "core/result.h"
#include "data/dataset.h"
#include "data/internal/missing.h"

namespace kedge::data {
namespace {

// What meta.json says of the files beside it.
struct Meta {
  std::optional<std::int64_t> vocab;  // more ids than the files use: kernels like round numbers
  std::optional<std::size_t> id_bytes;
};

template <typename Id>
void copy_ids(std::span<const std::uint8_t> bytes, std::int64_t first,
              std::span<std::int32_t> ids) {
  const std::uint8_t* from = bytes.data() + static_cast<std::size_t>(first) * sizeof(Id);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    Id id = 0;
    std::memcpy(&id, from + i * sizeof id, sizeof id);
    ids[i] = static_cast<std::int32_t>(id);
  }
}

// The files of a part: ids, and which of them count in the loss.
struct TokenFiles {
  MappedFile ids;
  std::optional<MappedFile> mask;  // a byte for each id
};

// Windows of context + 1 ids that begin every `context` ids, out of a file of whole numbers.
class TokenWindows : public Dataset {
 public:
  TokenWindows(TokenFiles files, std::string part, std::int64_t context, std::size_t id_bytes)
      : files_(std::move(files)), part_(std::move(part)), context_(context), id_bytes_(id_bytes) {
    info_.fields = token_fields(context);
    if (files_.mask) {
      info_.fields.push_back({.name = std::string(kLossMask), .shape = {context}});
    }
    size_ = std::max<std::int64_t>(0, (count() - 1) / context);
    Digest digest;
    digest.add(fmt::format("{} {} ", is_wide() ? "tokens32" : "tokens", context));
    digest.add(files_.ids.bytes());
    if (files_.mask) {
      digest.add(" mask ");
      digest.add(files_.mask->bytes());
    }
    digest_ = digest.text();
  }

  const DatasetInfo& info() const override { return info_; }

  std::int64_t size() const override { return size_; }

  std::int64_t label(std::int64_t) const override { return 0; }

  std::string name(std::int64_t index) const override {
    return fmt::format("{}/token {}", part_, index * context_);
  }

  Result<void> read(std::int64_t index, Sample& sample) const override {
    copy(index * context_, sample.row<std::int32_t>(0, context_ + 1));
    if (files_.mask) {
      const auto from = static_cast<std::size_t>(index * context_ + 1);  // the first target's
      std::ranges::copy(files_.mask->bytes().subspan(from, static_cast<std::size_t>(context_)),
                        sample.row<std::uint8_t>(1, context_).begin());
    }
    return {};
  }

  std::string digest() const override { return digest_; }

  // The largest id. Corrupt when one has more than 31 bits, with its place in the file.
  Result<std::int64_t> largest(const Path& path) const {
    std::int32_t most = 0;
    std::vector<std::int32_t> ids;
    for (std::int64_t first = 0; first < count(); first += kChunk) {
      ids.resize(static_cast<std::size_t>(std::min(kChunk, count() - first)));
      copy(first, ids);
      if (const auto wrong = std::ranges::find_if(ids, [](auto id) { return id < 0; });
          wrong != ids.end()) {
        return fail(ErrorKind::Corrupt,
                    fmt::format("{}: id {} is {}, more than 31 bits hold", path.string(),
                                first + (wrong - ids.begin()), static_cast<std::uint32_t>(*wrong)),
                    "ids are whole numbers from 0 to 2147483647; write the file again");
      }
      most = std::max(most, std::ranges::max(ids));
    }
    return most;
  }

  // Whether these are 32-bit ids that are read as 16-bit ones: every second is small then.
  bool looks_misread() const {
    std::vector<std::int32_t> ids(static_cast<std::size_t>(std::min(kChunk, count())));
    copy(0, ids);
    std::array<std::int32_t, 2> most = {};  // of even and odd places
    for (std::size_t i = 0; i < ids.size(); ++i) {
      most[i % 2] = std::max(most[i % 2], ids[i]);
    }
    return !is_wide() && ids.size() >= 64 && most[0] > 255 && most[1] < 16;
  }

  void set_vocab(std::int64_t vocab) { info_.vocab = vocab; }

 private:
  static constexpr std::int64_t kChunk = std::int64_t{64} * 1024;  // ids looked at together

  bool is_wide() const { return id_bytes_ == 4; }

  std::int64_t count() const {
    return static_cast<std::int64_t>(files_.ids.bytes().size() / id_bytes_);
  }

  void copy(std::int64_t first, std::span<std::int32_t> ids) const {
    (is_wide() ? copy_ids<std::uint32_t> : copy_ids<std::uint16_t>)(files_.ids.bytes(), first, ids);
  }

  TokenFiles files_;
  std::string part_;
  std::int64_t context_;
  std::size_t id_bytes_;
  DatasetInfo info_;
  std::int64_t size_ = 0;
  std::string digest_;
};

Result<Meta> read_meta(const Path& folder) {
  const Path path = folder / "meta.json";
  if (!std::filesystem::exists(path)) {
    return Meta{};
  }
  const auto json = nlohmann::json::parse(KEDGE_TRY(read_file(path)), nullptr, false);
  const bool has_type = json.is_object() && json.contains("dtype");
  const bool has_vocab = json.is_object() && json.contains("vocab");
  Meta meta;
  if (has_type) {
    if (json["dtype"] != "uint16" && json["dtype"] != "uint32") {
      return fail(ErrorKind::Corrupt,
                  fmt::format("{}: \"dtype\" is {}", path.string(), json["dtype"].dump()),
                  "ids are \"uint16\" or \"uint32\"");
    }
    meta.id_bytes = json["dtype"] == "uint32" ? 4 : 2;
  }
  if (has_vocab ? !json["vocab"].is_number_integer() : !has_type) {
    return fail(ErrorKind::Corrupt, fmt::format("{}: no whole number \"vocab\"", path.string()),
                "write {\"vocab\": 50304}, say, or remove the file");
  }
  if (has_vocab) {
    meta.vocab = json["vocab"].get<std::int64_t>();
  }
  return meta;
}

// The file beside the ids, if there is one.
Result<std::optional<MappedFile>> open_mask(const Path& path, std::size_t ids) {
  if (!std::filesystem::exists(path)) {
    return std::nullopt;
  }
  MappedFile mask = KEDGE_TRY(MappedFile::open(path));
  if (mask.bytes().size() != ids) {
    return fail(ErrorKind::Corrupt,
                fmt::format("{}: {} bytes for {} ids", path.string(), mask.bytes().size(), ids),
                "write one byte an id (numpy's uint8): 1 where its prediction counts, else 0");
  }
  if (std::ranges::all_of(mask.bytes(), [](std::uint8_t counts) { return counts == 0; })) {
    return fail(ErrorKind::Corrupt, fmt::format("{}: no id counts", path.string()),
                "write 1 where the prediction of an id counts, or remove the file");
  }
  return mask;
}

Result<std::unique_ptr<TokenWindows>> open_part(const Path& path, std::string part,
                                                std::int64_t context, std::size_t id_bytes) {
  MappedFile file = KEDGE_TRY(MappedFile::open(path));
  if (file.bytes().size() % id_bytes != 0) {
    return fail(
        ErrorKind::Corrupt,
        fmt::format("{}: {} bytes are no whole number of {}-bit ids", path.string(),
                    file.bytes().size(), 8 * id_bytes),
        fmt::format("write it again as unsigned {0}-bit numbers (numpy's uint{0})", 8 * id_bytes));
  }
  const Path mask_path = path.parent_path() / (part + ".mask");
  TokenFiles files{.ids = std::move(file), .mask = {}};
  files.mask = KEDGE_TRY(open_mask(mask_path, files.ids.bytes().size() / id_bytes));
  return std::make_unique<TokenWindows>(std::move(files), std::move(part), context, id_bytes);
}

Result<std::unique_ptr<SourceSplits>> open_tokens(const config::DataConfig& config) {
  const Path folder = config.path;
  if (!std::filesystem::exists(folder / "train.bin")) {
    return std::unexpected(missing_data(config, "train.bin, and val.bin if there is one"));
  }
  const Meta meta = KEDGE_TRY(read_meta(folder));
  std::vector<std::unique_ptr<TokenWindows>> parts;
  std::int64_t used = 0;
  for (const std::string part : {"train", "val"}) {
    const Path path = folder / (part + ".bin");
    if (std::filesystem::exists(path)) {
      parts.push_back(KEDGE_TRY(open_part(path, part, config.context, meta.id_bytes.value_or(2))));
      if (!meta.id_bytes && parts.back()->looks_misread()) {
        warn(
            "{}: every second id is small, as if these were 32-bit ids; say \"dtype\": \"uint32\" "
            "or \"uint16\" in meta.json",
            path.string());
      }
      used = std::max(used, 1 + KEDGE_TRY(parts.back()->largest(path)));
    }
  }
  const std::int64_t vocab = meta.vocab.value_or(used);
  if (vocab < used) {
    return fail(ErrorKind::Corrupt,
                fmt::format("{}: an id is {}, but meta.json says the vocabulary has {}",
                            folder.string(), used - 1, vocab),
                "raise \"vocab\" in meta.json, or write the files again");
  }
  for (const auto& part : parts) {
    part->set_vocab(vocab);
  }
  auto splits = std::make_unique<SourceSplits>();
  splits->train = std::move(parts.front());
  if (parts.size() > 1) {
    splits->test = std::move(parts.back());
  }
  return splits;
}

const Sources::Add kAddTokens({"tokens",
                               "ids of a tokenizer for language models: train.bin and val.bin of "
                               "unsigned 16- or 32-bit numbers, meta.json with \"vocab\" and "
                               "\"dtype\" (data.context); train.mask and val.mask: a byte for "
                               "each id, 0 where it does not count in the loss",
                               open_tokens,
                               {"path", "context"}});

}  // namespace
}  // namespace kedge::data
