#include "data/tokenizer/internal/added_tokens.h"

#include <algorithm>

#include "core/utf8.h"
#include "data/tokenizer/internal/character_set.h"

namespace kedge::data {
namespace {

char32_t last_character(std::string_view text) {
  std::size_t at = text.size() - 1;
  while (at > 0 && (static_cast<std::uint8_t>(text[at]) & 0xC0U) == 0x80U) {
    --at;
  }
  text.remove_prefix(at);
  return take_character(text);
}

bool is_word(char32_t character) {
  static const CharacterSet words = CharacterSet::word();
  return words.contains(character);
}

bool is_space(char32_t character) {
  static const CharacterSet spaces = CharacterSet::white_space();
  return spaces.contains(character);
}

std::size_t skip_space(std::string_view text, std::size_t at) {
  for (std::string_view rest = text.substr(at); !rest.empty() && is_space(take_character(rest));) {
    at = text.size() - rest.size();
  }
  return at;
}

std::size_t skip_space_back(std::string_view text, std::size_t at, std::size_t limit) {
  while (at > limit && is_space(last_character(text.substr(limit, at - limit)))) {
    do {
      --at;
    } while ((static_cast<std::uint8_t>(text[at]) & 0xC0U) == 0x80U);
  }
  return at;
}

}  // namespace

AddedTokens::AddedTokens() : nodes_(1) {}

void AddedTokens::add(const AddedToken& token, std::string_view content) {
  std::size_t node = 0;
  begins_[static_cast<std::uint8_t>(content.front())] = true;
  for (const char letter : content) {
    const auto byte = static_cast<std::uint8_t>(letter);
    auto found =
        std::ranges::find(nodes_[node].next, byte, [](const auto& way) { return way.first; });
    if (found == nodes_[node].next.end()) {
      const auto fresh = static_cast<std::uint32_t>(nodes_.size());
      nodes_[node].next.emplace_back(byte, fresh);
      nodes_.emplace_back();
      node = fresh;
    } else {
      node = found->second;
    }
  }
  nodes_[node].token = tokens_.size();
  tokens_.push_back(token);
}

std::size_t AddedTokens::longest(std::string_view text, std::size_t from, std::size_t& end) const {
  std::size_t token = kNone;
  std::size_t node = 0;
  for (std::size_t at = from; at < text.size(); ++at) {
    const auto& ways = nodes_[node].next;
    const auto way = std::ranges::find(ways, static_cast<std::uint8_t>(text[at]),
                                       [](const auto& each) { return each.first; });
    if (way == ways.end()) {
      break;
    }
    node = way->second;
    if (nodes_[node].token != kNone) {
      token = nodes_[node].token;
      end = at + 1;
    }
  }
  return token;
}

void AddedTokens::split(std::string_view text, bool with_special,
                        const std::function<void(std::string_view, TokenId)>& take) const {
  std::size_t done = 0;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = 0;
    const std::size_t found =
        begins_[static_cast<std::uint8_t>(text[at])] ? longest(text, at, end) : kNone;
    if (found == kNone) {
      ++at;
      continue;
    }
    const AddedToken& token = tokens_[found];
    std::size_t begin = at;
    at = end;
    const bool touches_word =
        token.is_single_word && ((begin > 0 && is_word(last_character(text.substr(0, begin)))) ||
                                 (end < text.size() && [rest = text.substr(end)]() mutable {
                                   return is_word(take_character(rest));
                                 }()));
    if (touches_word || (token.is_special && !with_special)) {
      continue;
    }
    if (token.strips_left) {
      begin = skip_space_back(text, begin, done);
    }
    if (token.strips_right) {
      end = skip_space(text, end);
    }
    if (done < begin) {
      take(text.substr(done, begin - done), kNoToken);
    }
    take(text.substr(begin, end - begin), token.id);
    done = end;
    at = std::max(at, end);
  }
  if (done < text.size()) {
    take(text.substr(done), kNoToken);
  }
}

}  // namespace kedge::data
