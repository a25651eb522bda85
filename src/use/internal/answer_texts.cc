#include "use/internal/answer_texts.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace kedge::use {
namespace {

constexpr std::int64_t kRoomStep = 256;

std::int64_t room_for(const LanguageModel& model, const std::vector<TextRequest>& requests) {
  std::int64_t longest = 0;
  for (const TextRequest& request : requests) {
    longest = std::max(longest, std::ssize(request.tokens) + request.max_tokens);
  }
  const std::int64_t rounded = (longest + kRoomStep - 1) / kRoomStep * kRoomStep;
  return std::min(rounded, model.decoder->longest());
}

}  // namespace

Result<void> answer_texts(const LanguageModel& model, const std::vector<TextRequest>& requests,
                          const std::vector<std::string>& stops, std::size_t at_once,
                          const OnAnswer& on_answer) {
  struct Begun {
    std::size_t text = 0;
    AnswerText answer;
  };

  TextBatch batch(model, std::min(at_once, requests.size()), room_for(model, requests));
  std::vector<std::optional<Begun>> begun(batch.rows());
  Result<void> outcome;
  const TextEvents events = {.on_token =
                                 [&](std::size_t row, const MadeToken& token) {
                                   Begun& it = *begun[row];
                                   const auto wish = it.answer.push(token.id);
                                   if (outcome) {
                                     outcome =
                                         wish ? on_answer(it.text, it.answer, /*is_whole=*/false)
                                              : std::unexpected(wish.error());
                                   }
                                   return wish.value_or(Wish::Enough);
                                 },
                             .on_end =
                                 [&](std::size_t row, Ending) {
                                   Begun& it = *begun[row];
                                   it.answer.finish();
                                   if (outcome) {
                                     outcome = on_answer(it.text, it.answer, /*is_whole=*/true);
                                   }
                                 }};
  for (std::size_t next = 0; outcome && (next < requests.size() || !batch.is_idle());) {
    for (auto row = batch.find_free(); row && next < requests.size(); row = batch.find_free()) {
      begun[*row].emplace(next, AnswerText(model, stops));
      batch.begin(*row, requests[next++]);
    }
    batch.advance(events);
  }
  return outcome;
}

}  // namespace kedge::use
