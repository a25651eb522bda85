#include "cli/torch/answer_flags.h"

#include <cstdlib>
#include <string>

#include <fmt/format.h>

#include "cli/torch/verbs.h"

namespace kedge::cli {
namespace {

Result<double> decimal(const Arguments& arguments, std::string_view flag, double fallback) {
  const std::string text = arguments.value(flag);
  if (text.empty()) {
    return fallback;
  }
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (*end != '\0') {
    return fail(ErrorKind::Usage, fmt::format("{} needs a number, not '{}'", flag, text));
  }
  return value;
}

}  // namespace

Result<use::AnswerSettings> answer_settings(const Arguments& arguments) {
  use::AnswerSettings settings;
  use::Sampling& sampling = settings.sampling;
  settings.max_tokens = KEDGE_TRY(arguments.number("--max-tokens", settings.max_tokens));
  sampling.temperature = KEDGE_TRY(decimal(arguments, "--temperature", 0));
  sampling.top_k = KEDGE_TRY(arguments.number("--top-k", 0));
  sampling.top_p = KEDGE_TRY(decimal(arguments, "--top-p", 1));
  sampling.min_p = KEDGE_TRY(decimal(arguments, "--min-p", 0));
  sampling.repetition_penalty = KEDGE_TRY(decimal(arguments, "--repetition-penalty", 1));
  sampling.seed = static_cast<std::uint64_t>(KEDGE_TRY(arguments.number("--seed", 0)));
  settings.stops = arguments.values("--stop");
  return settings;
}

Result<use::LanguageModelOptions> model_options(const Arguments& arguments,
                                                const std::string& word) {
  return use::LanguageModelOptions{.model = KEDGE_TRY(find_model(word)),
                                   .tokenizer = arguments.value("--tokenizer"),
                                   .adapter = arguments.value("--adapter"),
                                   .overrides = arguments.overrides()};
}

}  // namespace kedge::cli
