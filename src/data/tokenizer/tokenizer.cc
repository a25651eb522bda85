#include "data/tokenizer/tokenizer.h"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "core/file_digest.h"
#include "data/tokenizer/internal/tiktoken_file.h"
#include "data/tokenizer/internal/tokenizer_json.h"

namespace kedge::data {

Result<Tokenizer> Tokenizer::load(const Path& path) {
  const Path file = std::filesystem::is_directory(path) ? path / "tokenizer.json" : path;
  const std::string text = KEDGE_TRY(read_file(file));
  const std::string sha256 = sha256_of(text);
  auto parts =
      file.extension() == ".tiktoken" ? read_tiktoken(text, sha256) : read_tokenizer_json(text);
  if (!parts) {
    parts.error().message = fmt::format("{}: {}", file.string(), parts.error().message);
    return std::unexpected(parts.error());
  }
  parts->digest = sha256;
  return Tokenizer(std::make_shared<const TokenizerParts>(std::move(*parts)));
}

Result<Tokenizer> Tokenizer::parse(std::string_view json) {
  TokenizerParts parts = KEDGE_TRY(read_tokenizer_json(json));
  parts.digest = sha256_of(json);
  return Tokenizer(std::make_shared<const TokenizerParts>(std::move(parts)));
}

std::int64_t Tokenizer::vocab() const {
  return static_cast<std::int64_t>(parts_->pieces.size());
}

std::optional<TokenId> Tokenizer::find(std::string_view token) const {
  const auto found = parts_->names.find(token);
  return found == parts_->names.end() ? std::nullopt : std::optional(found->second);
}

std::optional<TokenId> Tokenizer::find_end_of_text() const {
  constexpr std::array<std::string_view, 6> kNames = {
      "<|endoftext|>", "<|end_of_text|>", "</s>",
      "<eos>",         "<EOT>",           "<\uFF5Cend\u2581of\u2581sentence\uFF5C>"};
  for (const std::string_view name : kNames) {
    if (const auto id = find(name); id && parts_->pieces[*id].is_special) {
      return id;
    }
  }
  return std::nullopt;
}

const std::string& Tokenizer::digest() const {
  return parts_->digest;
}

}  // namespace kedge::data
