// The ids of pieces that came before. Most of a text are few words again and again, so most of it
// is one look here. One thread's; a fixed size, in which a newer piece takes an older one's place.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "data/tokenizer/internal/model.h"

namespace kedge::data {

class PieceCache {
 public:
  PieceCache() : slots_(kSlots) {}

  // Longer pieces are not kept.
  static constexpr std::size_t kMostBytes = 15;

  // Appends the ids, if the piece (of 1 to kMostBytes bytes) is here.
  bool find(std::string_view piece, std::vector<TokenId>& ids) const {
    const Key key = key_of(piece);
    const Slot& slot = slots_[place(key)];
    if (slot.key != key) {
      return false;
    }
    if (slot.count == 1) {
      ids.push_back(slot.ids[0]);
    } else {
      ids.insert(ids.end(), slot.ids.begin(), slot.ids.begin() + slot.count);
    }
    return true;
  }

  void keep(std::string_view piece, std::span<const TokenId> ids) {
    if (ids.size() <= std::tuple_size_v<decltype(Slot::ids)>) {
      const Key key = key_of(piece);
      Slot& slot = slots_[place(key)];
      slot.key = key;
      slot.count = static_cast<std::uint32_t>(ids.size());
      std::copy(ids.begin(), ids.end(), slot.ids.begin());
    }
  }

 private:
  static constexpr std::size_t kSlots = std::size_t{1} << 16U;  // 4 MiB

  // The bytes, with zeros after them and the length in the last one, which is never 0 in a key.
  struct Key {
    std::uint64_t low = 0;
    std::uint64_t high = 0;

    friend bool operator==(const Key&, const Key&) = default;
  };

  struct alignas(64) Slot {  // a line of the processor's cache
    Key key;
    std::uint32_t count = 0;
    std::array<TokenId, 11> ids;
  };

  template <typename Word>
  static std::uint64_t load(const char* from) {
    Word word = 0;
    std::memcpy(&word, from, sizeof word);
    return word;
  }

  static Key key_of(std::string_view piece) {
    const char* begin = piece.data();
    const std::size_t size = piece.size();
    Key key;
    if (size >= 8) {
      key.low = load<std::uint64_t>(begin);
      // size 8 would shift by 64
      key.high = size == 8 ? 0 : load<std::uint64_t>(begin + size - 8) >> (8 * (16 - size));
    } else if (size >= 4) {
      key.low = load<std::uint32_t>(begin) | load<std::uint32_t>(begin + size - 4)
                                                 << (8 * (size - 4));
    } else {
      key.low = load<std::uint8_t>(begin) | load<std::uint8_t>(begin + size / 2)
                                                << (8 * (size / 2));
      key.low |= load<std::uint8_t>(begin + size - 1) << (8 * (size - 1));
    }
    key.high |= std::uint64_t{size} << 56U;
    return key;
  }

  static std::size_t place(const Key& key) {
    const std::uint64_t mixed = (key.low ^ (key.high * 0x9E3779B97F4A7C15U)) * 0xD6E8FEB86659FD93U;
    return (mixed ^ (mixed >> 32U)) * 0xD6E8FEB86659FD93U >> 48U;
  }

  std::vector<Slot> slots_;
};

}  // namespace kedge::data
