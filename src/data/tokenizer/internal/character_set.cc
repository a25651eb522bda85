#include "data/tokenizer/internal/character_set.h"

#include <algorithm>
#include <array>
#include <utility>

#include "data/tokenizer/internal/categories.h"

namespace kedge::data {
namespace {

// In the order of Category.
constexpr std::array<std::string_view, 30> kNames = {
    "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe",
    "Pi", "Pf", "Po", "Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co", "Cn"};

}  // namespace

std::optional<CharacterSet> CharacterSet::property(std::string_view name) {
  std::array<bool, kNames.size()> wanted{};
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    wanted[i] = kNames[i] == name || (name.size() == 1 && kNames[i][0] == name[0]);
  }
  if (std::ranges::find(wanted, true) == wanted.end()) {
    return std::nullopt;
  }
  CharacterSet set;
  const auto ranges = category_ranges();
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const char32_t end = i + 1 < ranges.size() ? ranges[i + 1] >> 8U : kLastCharacter + 1;
    if (wanted[ranges[i] & 0xFFU]) {
      set.ranges_.push_back({ranges[i] >> 8U, end - 1});
    }
  }
  set.add({});
  return set;
}

CharacterSet CharacterSet::white_space() {
  CharacterSet set(U'\t', U'\r');
  set.add(CharacterSet(0x85));
  set.add(*property("Z"));
  return set;
}

CharacterSet CharacterSet::word() {
  CharacterSet set(0x200C, 0x200D);
  for (const char* name : {"L", "M", "Nd", "Nl", "Pc"}) {
    set.add(*property(name));
  }
  for (const auto& [first, last] : {std::pair<char32_t, char32_t>{0x24B6, 0x24E9},
                                    {0x1F130, 0x1F149},
                                    {0x1F150, 0x1F169},
                                    {0x1F170, 0x1F189}}) {
    set.add(CharacterSet(first, last));
  }
  return set;
}

void CharacterSet::add(const CharacterSet& other) {
  ranges_.insert(ranges_.end(), other.ranges_.begin(), other.ranges_.end());
  std::ranges::sort(ranges_, {}, &Range::first);
  std::vector<Range> joined;
  for (const Range& range : ranges_) {
    if (!joined.empty() && range.first <= joined.back().last + 1) {
      joined.back().last = std::max(joined.back().last, range.last);
    } else {
      joined.push_back(range);
    }
  }
  ranges_ = std::move(joined);
}

CharacterSet CharacterSet::complement() const {
  CharacterSet set;
  char32_t from = 0;
  for (const Range& range : ranges_) {
    if (range.first > from) {
      set.ranges_.push_back({from, range.first - 1});
    }
    from = range.last + 1;
  }
  if (from <= kLastCharacter) {
    set.ranges_.push_back({from, kLastCharacter});
  }
  return set;
}

bool CharacterSet::contains(char32_t character) const {
  return std::ranges::any_of(ranges_, [character](const Range& range) {
    return range.first <= character && character <= range.last;
  });
}

bool CharacterSet::add_other_cases() {
  constexpr char32_t kLongS = 0x17F;
  constexpr char32_t kKelvin = 0x212A;
  const CharacterSet before = *this;
  for (char32_t lower = U'a'; lower <= U'z'; ++lower) {
    const char32_t upper = lower - U'a' + U'A';
    if (before.contains(lower) || before.contains(upper)) {
      add(CharacterSet(lower));
      add(CharacterSet(upper));
      if (lower == U's' || lower == U'k') {
        add(CharacterSet(lower == U's' ? kLongS : kKelvin));
      }
    }
  }
  return before.ranges_.empty() || before.ranges_.back().last < 0x80;
}

}  // namespace kedge::data
