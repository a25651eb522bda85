#include "data/sample_text.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace kedge::data {
namespace {

// A window of tokens with what is known of them.
struct Window {
  std::span<const std::int32_t> tokens;
  std::span<const std::uint8_t> mask;  // of the targets: the tokens from the second on, or of none
  std::span<const std::int32_t> documents;  // empty: one document

  bool is_trained(std::size_t i) const { return i > 0 && i <= mask.size() && mask[i - 1] != 0; }

  bool begins_document(std::size_t i) const {
    return i == 0 ||
           (!documents.empty() && i < documents.size() && documents[i] != documents[i - 1]);
  }

  // Where padding begins: no token is behind the last that is trained on, but for those of the
  // same document that are not zeros.
  std::size_t end() const {
    std::size_t last = tokens.size();
    while (last > 0 && !is_trained(last - 1)) {
      --last;
    }
    std::size_t end = tokens.size();
    while (end > last && tokens[end - 1] == 0) {
      --end;
    }
    return end;
  }
};

class Renderer {
 public:
  explicit Renderer(const Tokenizer& tokenizer) : decoder_(tokenizer, /*skip_special=*/false) {}

  Result<std::string> render(const Window& window) {
    const std::size_t end = window.end();
    for (std::size_t i = 0; i < end; ++i) {
      if (window.begins_document(i) && !window.documents.empty()) {
        mark(false);
        text_ += fmt::format("{}--- document {}\n", text_.empty() ? "" : "\n", ++documents_);
      }
      mark(window.is_trained(i));
      text_ += KEDGE_TRY(decoder_.push(static_cast<TokenId>(window.tokens[i])));
    }
    text_ += decoder_.finish();
    mark(false);
    if (end < window.tokens.size()) {
      text_ += fmt::format("\n--- {} tokens of padding\n", window.tokens.size() - end);
    }
    return std::move(text_);
  }

 private:
  void mark(bool is_trained) {
    if (is_trained != is_marked_) {
      text_ += is_trained ? "{+" : "+}";
      is_marked_ = is_trained;
    }
  }

  TokenDecoder decoder_;
  std::string text_;
  bool is_marked_ = false;
  int documents_ = 0;
};

template <typename T>
std::span<const T> values_of(const Sample& sample, std::size_t field) {
  const std::vector<std::uint8_t>& row = sample.rows[field];
  return {reinterpret_cast<const T*>(row.data()), row.size() / sizeof(T)};
}

// All values of a field; none where there is no such field.
template <typename T>
std::span<const T> find_values(const Dataset& dataset, const Sample& sample,
                               std::string_view name) {
  const std::vector<FieldInfo>& fields = dataset.info().fields;
  const FieldInfo* found = find_field(fields, name);
  return found == nullptr ? std::span<const T>{}
                          : values_of<T>(sample, static_cast<std::size_t>(found - fields.data()));
}

}  // namespace

Result<std::string> render_sample(const Dataset& dataset, std::int64_t index) {
  const DatasetInfo& info = dataset.info();
  if (!info.tokenizer) {
    return "";
  }
  Sample sample;
  KEDGE_TRY(dataset.read(index, sample));
  if (const auto tokens = find_values<std::int32_t>(dataset, sample, kTokens); !tokens.empty()) {
    return Renderer(*info.tokenizer)
        .render({.tokens = tokens,
                 .mask = find_values<std::uint8_t>(dataset, sample, kLossMask),
                 .documents = find_values<std::int32_t>(dataset, sample, kDocuments)});
  }
  const auto pair = find_values<std::int32_t>(dataset, sample, kPairTokens);
  const auto mask = find_values<std::uint8_t>(dataset, sample, kPairMask);
  std::string text;
  for (std::size_t side = 0; side < 2; ++side) {
    text += side == 0 ? "--- preferred\n" : "\n--- not preferred\n";
    text += KEDGE_TRY(Renderer(*info.tokenizer)
                          .render({.tokens = pair.subspan(side * pair.size() / 2, pair.size() / 2),
                                   .mask = mask.subspan(side * mask.size() / 2, mask.size() / 2),
                                   .documents = {}}));
  }
  return text;
}

}  // namespace kedge::data
