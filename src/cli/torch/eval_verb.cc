#include <fmt/format.h>

#include "cli/shared/arguments.h"
#include "cli/shared/torch_helps.h"
#include "cli/torch/verbs.h"
#include "use/choices.h"
#include "use/evaluate.h"
#include "use/perplexity.h"

namespace kedge::cli {
namespace {

// Flags that this way of measuring does not read are no use to anybody.
Result<void> refuse(const Arguments& arguments, std::initializer_list<std::string_view> flags,
                    std::string_view without) {
  for (const std::string_view flag : flags) {
    if (arguments.has(flag)) {
      return fail(ErrorKind::Usage, fmt::format("{} {}", flag, without), "kedge eval --help");
    }
  }
  return {};
}

Result<void> measure_choices(const Arguments& arguments, use::LanguageModelOptions model) {
  KEDGE_TRY(refuse(arguments, {"--text", "--train", "--context", "--stride"},
                   "does not go with --choices"));
  use::ChoiceOptions options{.model = std::move(model),
                             .choices = arguments.value("--choices"),
                             .delimiter = arguments.value("--delimiter", " "),
                             .output = arguments.value("--output"),
                             .as_json = arguments.has("--json")};
  options.batch = KEDGE_TRY(arguments.number("--batch", options.batch, 1));
  return use::run_choices(options);
}

Result<void> measure_text(const Arguments& arguments, use::LanguageModelOptions model) {
  KEDGE_TRY(refuse(arguments, {"--train"}, "does not go with --text"));
  KEDGE_TRY(refuse(arguments, {"--output", "--delimiter"}, "goes with --choices"));
  use::PerplexityOptions options{.model = std::move(model),
                                 .text = arguments.value("--text"),
                                 .as_json = arguments.has("--json")};
  options.context = KEDGE_TRY(arguments.number("--context", 0, 2));
  options.stride = KEDGE_TRY(arguments.number("--stride", 0, 1));
  options.batch = KEDGE_TRY(arguments.number("--batch", options.batch, 1));
  return use::run_perplexity(options);
}

}  // namespace

Result<void> run_eval(const Invocation& invocation) {
  const VerbHelp& help = *find_torch_help("eval");
  const auto arguments = KEDGE_TRY(parse_or_help(invocation.args, help));
  if (!arguments) {
    return {};
  }
  if (arguments->positionals().size() != 1) {
    return fail(ErrorKind::Usage,
                "eval needs one model: a run or checkpoint folder, or a language model",
                "kedge eval runs/<project>/<id>, kedge eval MODEL --text FILE");
  }
  const Path model = KEDGE_TRY(find_model(arguments->positionals().front()));
  if (arguments->has("--choices") || arguments->has("--text")) {
    use::LanguageModelOptions language{.model = model,
                                       .tokenizer = arguments->value("--tokenizer"),
                                       .adapter = arguments->value("--adapter"),
                                       .overrides = arguments->overrides()};
    return arguments->has("--choices") ? measure_choices(*arguments, std::move(language))
                                       : measure_text(*arguments, std::move(language));
  }
  KEDGE_TRY(refuse(*arguments, {"--context", "--stride", "--batch", "--tokenizer", "--adapter"},
                   "goes with --text or --choices"));
  KEDGE_TRY(refuse(*arguments, {"--output", "--delimiter"}, "goes with --choices"));
  return use::run_evaluate({.model = model,
                            .overrides = arguments->overrides(),
                            .on_train_split = arguments->has("--train"),
                            .as_json = arguments->has("--json")});
}

}  // namespace kedge::cli
