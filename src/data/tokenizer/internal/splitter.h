// Cuts text into the pieces that no token crosses: the pre_tokenizer of a tokenizer.json. Shared by
// all threads.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/result.h"
#include "data/tokenizer/internal/pattern.h"

namespace kedge::data {

using PieceSink = std::function<void(std::string_view)>;

// What becomes of the matches of a pattern.
enum class SplitBehaviour : std::uint8_t {
  Isolated,
  Removed,
  MergedWithPrevious,
  MergedWithNext,
  Contiguous,  // matches that touch are one piece
};

class Splitter {
 public:
  Splitter() = default;  // does not cut
  // null or a pre_tokenizer. Usage names a kind, an option or an order that is not known.
  static Result<Splitter> read(const nlohmann::json& json);
  // One pattern whose matches, and what is between them, are the pieces.
  static Result<Splitter> by_pattern(std::string_view expression, Dialect dialect);

  // Calls `sink` with each piece, in order. `is_at_start`: no text came before this.
  void split(std::string_view text, bool is_at_start, const PieceSink& sink) const;

  // Whether the model is to see bytes in place of characters.
  bool is_byte_level() const { return is_byte_level_; }

 private:
  struct Stage {
    enum class Kind : std::uint8_t { Cut, SpaceBefore, Mark };
    enum class Prepend : std::uint8_t { Always, First, Never };

    Kind kind = Kind::Cut;
    std::optional<Pattern> pattern = {};  // Cut; Mark: where it cuts, if it does
    SplitBehaviour behaviour = SplitBehaviour::Isolated;
    bool is_inverted = false;
    std::string mark = {};  // Mark: what stands for a space
    Prepend prepend = Prepend::Always;
  };

  Result<void> add(const nlohmann::json& json);
  Result<void> add_cut(std::string_view expression, const nlohmann::json& options);
  Result<void> add_mark(const nlohmann::json& json);
  void run(std::size_t stage, std::string_view text, bool is_at_start, const PieceSink& sink) const;
  void cut(std::size_t stage, std::string_view text, bool is_at_start, const PieceSink& sink) const;

  std::vector<Stage> stages_;
  bool is_byte_level_ = false;
};

}  // namespace kedge::data
