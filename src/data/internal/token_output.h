// The files that tokenize() writes, while they are written: parts that grow, and a state that says
// how much of them is sound, so that a run that was killed goes on from there.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/file.h"
#include "core/result.h"
#include "data/internal/text_units.h"
#include "data/tokenize.h"

namespace kedge::data {

// What came out of one unit.
struct UnitTokens {
  TextUnit unit;

  struct Split {
    std::vector<TokenId> ids;
    std::vector<std::int32_t> lengths;  // of the documents, in ids
  };

  std::array<Split, 2> splits = {};  // train, val

  struct Reject {
    std::uint64_t line = 0;  // from 0, in the unit
    std::uint64_t offset = 0;
    std::string reason;
  };

  std::vector<Reject> rejects = {};
  std::uint64_t empty = 0;
  UnitFacts facts = {};
};

class TokenOutput {
 public:
  // Makes the folder and its parts, or opens those of the run that `job` names and cuts off what
  // its state does not vouch for. Usage when the folder holds another's.
  static Result<TokenOutput> open(const Path& folder, const std::string& job, bool has_val,
                                  std::size_t id_bytes, std::uint64_t unsaved_bytes);

  // The last unit that is in the files; nothing for a new run.
  const std::optional<TextUnit>& last() const { return last_; }

  const TokenizeReport& report() const { return report_; }

  // Units in order. The state follows now and then.
  Result<void> add(const UnitTokens& tokens, const std::vector<TextFile>& files);

  // Gives the files their names, with meta.json and the documents' index.
  Result<void> finish(std::int64_t vocab, const std::string& tokenizer_digest);

 private:
  struct Part {
    explicit Part(std::string of) : name(std::move(of)) {}

    std::string name;  // "train.bin"
    OwnedFd file = {};
    std::uint64_t bytes = 0;
  };

  Result<void> read_state(const std::string& text);
  Result<void> append(Part& part, std::string_view bytes);
  Result<void> save_state();
  Result<void> write_index(const std::string& split);

  Path folder_;
  std::string job_;
  std::size_t id_bytes_ = 2;
  std::vector<Part> parts_;  // rejected.jsonl, then of each split its ids and its lengths
  std::optional<TextUnit> last_;
  TokenizeReport report_;
  std::uint64_t line_ = 0;           // of the file, where the next unit begins
  std::uint64_t unsaved_bytes_ = 0;  // of input
  std::uint64_t most_unsaved_bytes_ = 0;
};

}  // namespace kedge::data
