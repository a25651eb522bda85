// The options that generate, chat and serve have in common; their help: shared/torch_helps.cc.
#pragma once

#include "cli/shared/arguments.h"
#include "core/result.h"
#include "use/answer_settings.h"
#include "use/language_model.h"

namespace kedge::cli {

Result<use::AnswerSettings> answer_settings(const Arguments& arguments);

// `word`: the model as the user names it.
Result<use::LanguageModelOptions> model_options(const Arguments& arguments,
                                                const std::string& word);

}  // namespace kedge::cli
