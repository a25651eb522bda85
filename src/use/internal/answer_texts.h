// Answers many texts, so many at once: where one ends, the next begins.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "core/result.h"
#include "use/internal/answer_text.h"
#include "use/internal/text_batch.h"
#include "use/language_model.h"

namespace kedge::use {

// Told what a text has become, with each token and when it `is_whole`.
using OnAnswer = std::function<Result<void>(std::size_t text, AnswerText& answer, bool is_whole)>;

// Each of `requests` has room for itself: check_length().
Result<void> answer_texts(const LanguageModel& model, const std::vector<TextRequest>& requests,
                          const std::vector<std::string>& stops, std::size_t at_once,
                          const OnAnswer& on_answer);

}  // namespace kedge::use
