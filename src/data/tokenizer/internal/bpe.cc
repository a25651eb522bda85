#include "data/tokenizer/internal/bpe.h"

#include <algorithm>
#include <cstddef>
#include <queue>
#include <utility>

#include "core/utf8.h"

namespace kedge::data {
namespace {

constexpr std::uint32_t kNever = 0xFFFFFFFF;

std::uint32_t rank_of(Merge merge) {
  return merge.merged == kNoToken ? kNever : merge.rank;
}

// For the few symbols of a word: looks through all pairs for each merge.
void merge_few(const PairTable& pairs, std::vector<TokenId>& symbols) {
  thread_local std::vector<Merge> merges;  // of each symbol with the next
  merges.clear();
  for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
    merges.push_back(pairs.find(symbols[i], symbols[i + 1]));
  }
  while (!merges.empty()) {
    std::size_t best = 0;
    std::uint32_t lowest = rank_of(merges[0]);
    for (std::size_t i = 1; i < merges.size(); ++i) {
      if (rank_of(merges[i]) < lowest) {
        lowest = rank_of(merges[i]);
        best = i;
      }
    }
    if (lowest == kNever) {
      return;
    }
    symbols[best] = merges[best].merged;
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    merges.erase(merges.begin() + static_cast<std::ptrdiff_t>(best));
    if (best > 0) {
      merges[best - 1] = pairs.find(symbols[best - 1], symbols[best]);
    }
    if (best < merges.size()) {
      merges[best] = pairs.find(symbols[best], symbols[best + 1]);
    }
  }
}

// For many symbols: a list of them and a heap of merges, so that a run of a million letters costs
// n log n.
class LongMerge {
 public:
  LongMerge(const PairTable& pairs, std::vector<TokenId>& symbols)
      : pairs_(pairs), symbols_(symbols), before_(symbols.size()), after_(symbols.size()) {
    for (std::size_t i = 0; i < symbols.size(); ++i) {
      before_[i] = i - 1;  // of the first: never read, as after_ of the last is kEnd
      after_[i] = i + 1;
    }
  }

  void run() {
    for (std::size_t i = 0; i + 1 < symbols_.size(); ++i) {
      offer(i);
    }
    while (!offers_.empty()) {
      const Offer offer = offers_.top();
      offers_.pop();
      take(offer);
    }
    std::erase(symbols_, kNoToken);
  }

 private:
  struct Offer {
    std::uint32_t rank;
    std::size_t at;
    TokenId merged;

    bool operator<(const Offer& other) const {  // the heap's top is the largest
      return rank != other.rank ? rank > other.rank : at > other.at;
    }
  };

  void offer(std::size_t at) {
    const Merge merge = pairs_.find(symbols_[at], symbols_[after_[at]]);
    if (merge.merged != kNoToken) {
      offers_.push({merge.rank, at, merge.merged});
    }
  }

  void take(const Offer& chosen) {
    const std::size_t right = after_[chosen.at];
    if (symbols_[chosen.at] == kNoToken || right == symbols_.size()) {
      return;
    }
    const Merge now = pairs_.find(symbols_[chosen.at], symbols_[right]);
    if (now.merged != chosen.merged || now.rank != chosen.rank) {
      return;  // one of the two has merged otherwise meanwhile
    }
    symbols_[chosen.at] = chosen.merged;
    symbols_[right] = kNoToken;
    after_[chosen.at] = after_[right];
    if (after_[right] < symbols_.size()) {
      before_[after_[right]] = chosen.at;
      offer(chosen.at);
    }
    if (chosen.at > 0) {
      offer(before_[chosen.at]);
    }
  }

  const PairTable& pairs_;
  std::vector<TokenId>& symbols_;
  std::vector<std::size_t> before_;
  std::vector<std::size_t> after_;
  std::priority_queue<Offer> offers_;
};

}  // namespace

Bpe::Bpe(BpeParts parts) : parts_(std::move(parts)) {}

void Bpe::encode(std::string_view piece, std::vector<TokenId>& ids) const {
  constexpr std::size_t kFew = 100;
  if (parts_.whole_first) {
    if (const auto whole = parts_.tokens.find(piece); whole != parts_.tokens.end()) {
      ids.push_back(whole->second);
      return;
    }
  }
  thread_local std::vector<TokenId> symbols;
  symbols.clear();
  begin(piece, symbols);
  if (symbols.size() <= kFew) {
    merge_few(parts_.pairs, symbols);
  } else {
    LongMerge(parts_.pairs, symbols).run();
  }
  ids.insert(ids.end(), symbols.begin(), symbols.end());
}

// The symbols before any merge.
void Bpe::begin(std::string_view piece, std::vector<TokenId>& symbols) const {
  if (parts_.is_over_bytes) {
    for (const char byte : piece) {
      const TokenId id = parts_.bytes[static_cast<std::uint8_t>(byte)];
      if (const TokenId known = id == kNoToken ? parts_.unknown : id; known != kNoToken) {
        symbols.push_back(known);  // else the byte is lost, as Hugging Face's tokenizers lose it
      }
    }
    return;
  }
  bool was_unknown = false;
  while (!piece.empty()) {
    const std::string_view before = piece;
    take_character(piece);
    const std::string_view character = before.substr(0, before.size() - piece.size());
    const auto known = parts_.tokens.find(character);
    const bool is_unknown = known == parts_.tokens.end() && parts_.bytes[0] == kNoToken;
    if (known != parts_.tokens.end()) {
      symbols.push_back(known->second);
    } else if (is_unknown && !(was_unknown && parts_.fuses_unknown)) {
      symbols.push_back(parts_.unknown);
    } else if (!is_unknown) {
      for (const char byte : character) {
        symbols.push_back(parts_.bytes[static_cast<std::uint8_t>(byte)]);
      }
    }
    was_unknown = is_unknown;
  }
}

}  // namespace kedge::data
