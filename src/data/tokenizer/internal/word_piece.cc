#include "data/tokenizer/internal/word_piece.h"

#include "core/utf8.h"

namespace kedge::data {

void WordPiece::encode(std::string_view piece, std::vector<TokenId>& ids) const {
  const std::size_t first = ids.size();
  bool is_known = count_characters(piece) <= parts_.most_characters;
  std::string candidate;
  for (std::size_t from = 0; is_known && from < piece.size();) {
    is_known = false;
    for (std::size_t end = piece.size(); end > from && !is_known; --end) {
      const bool is_boundary =
          end == piece.size() || (static_cast<std::uint8_t>(piece[end]) & 0xC0U) != 0x80U;
      if (!is_boundary) {
        continue;
      }
      candidate = from > 0 ? parts_.prefix : std::string();
      candidate += piece.substr(from, end - from);
      if (const auto token = parts_.tokens.find(candidate); token != parts_.tokens.end()) {
        ids.push_back(token->second);
        is_known = true;
        from = end;
        break;
      }
    }
  }
  if (!is_known) {
    ids.resize(first);
    ids.push_back(parts_.unknown);
  }
}

}  // namespace kedge::data
