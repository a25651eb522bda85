// Which two tokens merge into which, and how early: a hash table that is filled once and then read
// by all threads.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "data/tokenizer/internal/model.h"

namespace kedge::data {

struct Merge {
  std::uint32_t rank = 0;  // the lowest merges first
  TokenId merged = kNoToken;
};

class PairTable {
 public:
  explicit PairTable(std::size_t most) : entries_(std::bit_ceil(2 * most + 2)) {}

  // A pair that is added again takes the later merge, as in Hugging Face's.
  void add(TokenId left, TokenId right, Merge merge) {
    Entry& entry = entries_[place(key(left, right))];
    entry = {.key = key(left, right), .merge = merge};
  }

  // `merged` is kNoToken when the two do not merge.
  Merge find(TokenId left, TokenId right) const { return entries_[place(key(left, right))].merge; }

 private:
  struct Entry {
    std::uint64_t key = ~std::uint64_t{0};  // two kNoTokens: free
    Merge merge = {};
  };

  static std::uint64_t key(TokenId left, TokenId right) {
    return std::uint64_t{left} << 32U | right;
  }

  std::size_t place(std::uint64_t key) const {
    const std::size_t mask = entries_.size() - 1;
    std::size_t at = (key * 0x9E3779B97F4A7C15U >> 20U) & mask;
    while (entries_[at].key != key && entries_[at].key != ~std::uint64_t{0}) {
      at = (at + 1) & mask;
    }
    return at;
  }

  std::vector<Entry> entries_;
};

}  // namespace kedge::data
