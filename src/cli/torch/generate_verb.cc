#include <cstdlib>
#include <string>

#include <fmt/format.h>

#include "cli/shared/arguments.h"
#include "cli/shared/torch_helps.h"
#include "cli/torch/verbs.h"
#include "use/generate.h"

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

Result<void> run_generate(const Invocation& invocation) {
  const VerbHelp& help = *find_torch_help("generate");
  const auto arguments = KEDGE_TRY(parse_or_help(invocation.args, help));
  if (!arguments) {
    return {};
  }
  const auto& words = arguments->positionals();
  if (words.empty() || words.size() > 2) {
    return fail(ErrorKind::Usage, "generate needs a model, and a prompt if there is one",
                "kedge generate path/to/model 'Once upon a time'");
  }
  use::GenerateOptions options;
  options.model = KEDGE_TRY(find_model(words[0]));
  options.prompt = words.size() > 1 ? words[1] : "";
  options.tokenizer = arguments->value("--tokenizer");
  options.adapter = arguments->value("--adapter");
  options.input = arguments->value("--input");
  options.output = arguments->value("--output");
  options.max_tokens = KEDGE_TRY(arguments->number("--max-tokens", options.max_tokens));
  options.temperature = KEDGE_TRY(decimal(*arguments, "--temperature", 0));
  options.top_k = KEDGE_TRY(arguments->number("--top-k", 0));
  options.top_p = KEDGE_TRY(decimal(*arguments, "--top-p", 1));
  options.min_p = KEDGE_TRY(decimal(*arguments, "--min-p", 0));
  options.repetition_penalty = KEDGE_TRY(decimal(*arguments, "--repetition-penalty", 1));
  options.seed = KEDGE_TRY(arguments->number("--seed", 0));
  options.stops = arguments->values("--stop");
  options.batch = KEDGE_TRY(arguments->number("--batch", options.batch));
  options.as_json = arguments->has("--json");
  options.overrides = arguments->overrides();
  return use::run_generate(options);
}

}  // namespace kedge::cli
