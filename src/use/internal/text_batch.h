// Texts that advance together, token by token, each in a row of one cache. They come and go between
// steps, and what becomes of one does not depend on the others: a step computes all rows whether
// they are in use or not, a new text is read by itself, and what is drawn is each row's own.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include <ATen/core/grad_mode.h>
#include <c10/core/Event.h>

#include "core/result.h"
#include "device/precision.h"
#include "device/step_graphs.h"
#include "use/internal/sampling.h"
#include "use/language_model.h"

namespace kedge::use {

struct TextRequest {
  std::vector<std::int64_t> tokens;  // at least one
  Sampling sampling = {};
  std::int64_t max_tokens = 256;  // new ones
  bool ends = true;               // at the model's end tokens
  bool keeps = false;             // what its row has computed of the same beginning
  std::int64_t tells = 0;         // so many of the likeliest tokens; up to kMaxTold
};

inline constexpr std::int64_t kMaxTold = 20;

// By the model's scores as they are, before any setting changes them.
struct TokenChance {
  std::int64_t id = 0;
  double log_prob = 0;
};

struct MadeToken {
  std::int64_t id = 0;
  double log_prob = 0;                      // where TextRequest::tells asks for them
  std::vector<TokenChance> likeliest = {};  // in order
};

enum class Wish : std::uint8_t { More, Enough };
enum class Ending : std::uint8_t { EndToken, Enough, MaxTokens };

struct TextEvents {
  // Asked with each new token of a row, in order; an end token is not reported.
  std::function<Wish(std::size_t row, const MadeToken& token)> on_token;
  std::function<void(std::size_t row, Ending ending)> on_end;  // the row is free
};

// For the thread that makes it, which must destroy it: it computes without gradients meanwhile.
class TextBatch {
 public:
  // `room`: tokens that each row takes, new ones included. `goes_ahead`: a step is begun before the
  // host looks at what the last one made, even where that turns out to be the end; a GPU does.
  TextBatch(const LanguageModel& model, std::size_t rows, std::int64_t room, bool goes_ahead);

  TextBatch(const LanguageModel& model, std::size_t rows, std::int64_t room)
      : TextBatch(model, rows, room, model.context->device.is_cuda()) {}

  TextBatch(const TextBatch&) = delete;
  TextBatch& operator=(const TextBatch&) = delete;
  ~TextBatch() = default;

  std::size_t rows() const { return rows_.size(); }

  std::int64_t room() const { return cache_.room; }

  bool is_idle() const;
  std::optional<std::size_t> find_free() const;

  // Takes a free row. The tokens are read by advance(), which goes on with them until an end.
  void begin(std::size_t row, TextRequest request);
  // Frees a row, whatever it is at; nothing is reported.
  void end(std::size_t row);

  // Reads a stretch of what is new, and goes on by one token with each text that has been read.
  void advance(const TextEvents& events);

 private:
  enum class State : std::uint8_t { Free, Reading, Running };

  struct Row {
    State state = State::Free;
    TextRequest request = {};  // its tokens grow
    std::int64_t cached = 0;   // of its tokens
    std::int64_t made = 0;
    bool has_next = false;   // next_B1_ has a token of it that was not reported
    std::uint64_t turn = 0;  // who came first is read first
  };

  void read_some();
  void read_stretch(std::size_t row);
  nn::KvCache view_of(std::size_t row, std::int64_t length) const;
  void step();

  struct Made {
    at::Tensor ids_B1;
    at::Tensor told_BK;                       // undefined where nobody asks
    std::optional<c10::Event> is_there = {};  // to wait for; from a GPU
  };

  Made take_made();
  MadeToken token_of(const Made& made, std::size_t row) const;
  void report(const std::vector<std::size_t>& rows, const Made& made, const TextEvents& events);
  void choose(const at::Tensor& scores_BV, const at::Tensor& lengths_B, const SamplingWork& work,
              std::int64_t first, bool is_alone);
  SamplingWork work() const;

  const LanguageModel& model_;
  bool goes_ahead_;
  at::NoGradGuard no_grad_;
  device::Autocast autocast_;
  device::StepGraphs graphs_;
  nn::KvCache cache_;
  SamplingRows sampling_;
  at::Tensor next_B1_;
  at::Tensor told_BK_;                // next_B1_'s log-probability, kMaxTold ids, and theirs
  at::Tensor counts_B_;               // 1 where a row takes part in the step
  std::vector<std::int64_t> counts_;  // the same, on the host
  std::vector<Row> rows_;
  std::uint64_t turns_ = 0;
};

// Usage: no token, or with the new ones more than the model takes, or than a row of `room`.
Result<void> check_length(const TextRequest& request, std::int64_t room);

// Tokens that a text gets room for: `asked`, or where that is 0 so many as are `usual` or the model
// takes. Usage: the model does not take so many.
Result<std::int64_t> text_room(const LanguageModel& model, std::int64_t asked, std::int64_t usual);

}  // namespace kedge::use
