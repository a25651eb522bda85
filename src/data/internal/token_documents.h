// Documents as tokens in memory, and samples of one or several of them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/hash.h"
#include "data/dataset.h"
#include "data/internal/packing.h"
#include "data/tokenizer/tokenizer.h"

namespace kedge::data {

// Where a document was read.
struct DocumentPlace {
  std::uint32_t file = 0;
  std::uint32_t line = 0;  // from 1; 0: the file is one document
};

// Tokens one after the other, each with a mark: whether its prediction counts in the loss. Five
// bytes a token.
class TokenDocuments {
 public:
  void add(std::span<const TokenId> ids, std::span<const std::uint8_t> marks, DocumentPlace place);

  // A document that takes more than `most` tokens as several, each of which begins with the last
  // token of the one before, so that all but the first are predicted.
  void add_in_pieces(std::span<const TokenId> ids, std::size_t most, DocumentPlace place);

  // All of them after these.
  void append(const TokenDocuments& others);

  std::size_t size() const { return pieces_.size(); }

  std::int32_t length(std::size_t document) const { return pieces_[document].length; }

  std::vector<std::int32_t> lengths() const;

  std::span<const TokenId> ids(std::size_t document) const;
  std::span<const std::uint8_t> marks(std::size_t document) const;

  DocumentPlace place(std::size_t document) const { return pieces_[document].place; }

  std::int64_t token_count() const;

  // Those that are predicted and count.
  std::int64_t counted_count() const;

  void add_to(Digest& digest) const;

 private:
  struct Piece {
    std::uint64_t first = 0;
    std::int32_t length = 0;
    DocumentPlace place = {};
  };

  std::vector<TokenId> ids_;
  std::vector<std::uint8_t> marks_;
  std::vector<Piece> pieces_;
};

// How documents become samples.
struct WindowOptions {
  std::int64_t context = 0;
  bool pack = true;  // several a sample, with the field "documents"; else one, padded at the end
  std::vector<std::string> files = {};  // names of DocumentPlace::file
};

// Windows of context + 1 tokens, with a mask that leaves out padding, what is not marked, and each
// document's first token: nothing before it belongs to it.
class DocumentWindows : public Dataset {
 public:
  // Documents have from 2 to context + 1 tokens. `info` has the vocabulary, the tokenizer and what
  // is to be said; `making` names all that the tokens came about with.
  DocumentWindows(TokenDocuments documents, WindowOptions options, DatasetInfo info,
                  std::string_view making);

  const DatasetInfo& info() const override { return info_; }

  std::int64_t size() const override { return static_cast<std::int64_t>(groups_.size()); }

  std::int64_t label(std::int64_t) const override { return 0; }

  void add_note(std::string note) { info_.notes.push_back(std::move(note)); }

  std::string name(std::int64_t index) const override;
  Result<void> read(std::int64_t index, Sample& sample) const override;

  std::string digest() const override { return digest_; }

 private:
  TokenDocuments documents_;
  WindowOptions options_;
  Groups groups_;
  DatasetInfo info_;
  std::string digest_;
};

// "train.jsonl:17"
std::string describe_place(const std::vector<std::string>& files, DocumentPlace place);

// The tokens of a document at the beginning of a window of context + 1, and the mask of its
// targets. What is behind it stays as it is.
void lay_document(std::span<const TokenId> ids, std::span<const std::uint8_t> marks,
                  std::span<std::int32_t> window, std::span<std::uint8_t> mask);

}  // namespace kedge::data
