#include "mlflow/internal/filter_reader.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace kedge::mlflow {
namespace {

bool is_operand(const Piece& piece) {
  return piece.kind == Piece::Kind::Name || piece.kind == Piece::Kind::Text ||
         piece.kind == Piece::Kind::Number || piece.kind == Piece::Kind::Formula ||
         piece.kind == Piece::Kind::List;
}

class Reader {
 public:
  Reader(std::string_view text, bool is_quoting)
      : text_(text), is_quoting_(is_quoting), pieces_(cut_filter(text)) {}

  Outcome<std::vector<Sentence>> read() {
    const auto semicolon = std::ranges::find(pieces_, Piece::Kind::Semicolon, &Piece::kind);
    if (semicolon != pieces_.end() && semicolon + 1 != pieces_.end()) {
      return refuse(
          fmt::format("Search filter contained multiple expression '{}'. Provide AND-ed "
                      "expression list.",
                      text_));
    }
    std::vector<Sentence> sentences;
    while (place_ < pieces_.size()) {
      if (is_word(pieces_[place_], "and")) {
        ++place_;
      } else if (auto sentence = take_sentence()) {
        sentences.push_back(std::move(*sentence));
      } else {
        refused_.emplace_back(pieces_[place_].text);
        ++place_;
      }
    }
    if (!refused_.empty()) {
      return refuse_clauses();
    }
    for (const Sentence& sentence : sentences) {
      if (sentence.name.kind != Piece::Kind::Name) {
        return refuse(fmt::format("Invalid comparison clause. Expected 'Identifier' found '{}'",
                                  sentence.name.text));
      }
    }
    return sentences;
  }

 private:
  std::unexpected<Fault> refuse_clauses() const {
    std::vector<std::string> shown;
    for (const std::string& clause : refused_) {
      shown.push_back(is_quoting_ ? fmt::format("'{}'", clause) : clause);
    }
    return refuse(fmt::format("Invalid clause(s) in filter string: {}", fmt::join(shown, ", ")));
  }

  const Piece& at(std::size_t i) const {
    static constexpr Piece kEnd = {};
    return i < pieces_.size() ? pieces_[i] : kEnd;
  }

  // How many pieces a comparator at `from` has, and what it is; 0 when there is none.
  std::size_t comparator_size(std::size_t from, std::string& name) const {
    if (at(from).kind == Piece::Kind::Comparator) {
      name = at(from).text;
      return 1;
    }
    const bool is_not = is_word(at(from), "not");
    const Piece& verb = at(from + (is_not ? 1 : 0));
    if (is_word(verb, "like") || is_word(verb, "ilike") || is_word(verb, "in")) {
      name = (is_not ? "NOT " : "") + upper_case(verb.text);
      return is_not ? 2 : 1;
    }
    if (is_word(at(from), "is")) {
      const bool is_negated = is_word(at(from + 1), "not");
      if (is_word(at(from + (is_negated ? 2 : 1)), "null")) {
        name = is_negated ? "IS NOT NULL" : "IS NULL";
        return is_negated ? 3 : 2;
      }
    }
    return 0;
  }

  std::optional<Sentence> take_sentence() {
    Sentence sentence{.name = at(place_)};
    if (!is_operand(sentence.name) || sentence.name.kind == Piece::Kind::List) {
      return std::nullopt;
    }
    const std::size_t size = comparator_size(place_ + 1, sentence.comparator);
    if (size == 0) {
      return std::nullopt;
    }
    sentence.as_written = std::string(at(place_ + size).text);
    if (sentence.comparator.starts_with("IS ")) {
      place_ += 1 + size;
      return sentence;
    }
    sentence.value = at(place_ + 1 + size);
    if (!is_operand(sentence.value) || sentence.value.kind == Piece::Kind::Formula) {
      return std::nullopt;
    }
    place_ += 2 + size;
    return sentence;
  }

  std::string_view text_;
  bool is_quoting_;
  std::vector<Piece> pieces_;
  std::size_t place_ = 0;
  std::vector<std::string> refused_;
};

}  // namespace

std::string upper_case(std::string_view text) {
  std::string big(text);
  std::ranges::transform(big, big.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return big;
}

Outcome<std::vector<Sentence>> read_sentences(std::string_view text, bool is_quoting) {
  return Reader(text, is_quoting).read();
}

}  // namespace kedge::mlflow
