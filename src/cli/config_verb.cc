#include <fmt/format.h>

#include "cli/shared/arguments.h"
#include "cli/shared/json_output.h"
#include "cli/verbs.h"
#include "config/render.h"
#include "core/log.h"

namespace kedge::cli {
namespace {

Result<void> show_config(Args args) {
  const VerbHelp help = {.usage = "kedge config show [CONFIG] [key=value ...]",
                         .text = "Prints every effective value and where it came from.",
                         .flags = {kConfigFlag, kJsonFlag}};
  const auto arguments = KEDGE_TRY(parse_or_help(args, help));
  if (!arguments) {
    return {};
  }
  const config::LoadedConfig config = KEDGE_TRY(load_config_of(*arguments));
  if (arguments->has("--json")) {
    print_json(config::render_json(config));
  } else {
    fmt::print("{}", config::render_with_origins(config));
    for (const std::string& note : config.notes) {
      print_line(note);
    }
  }
  return {};
}

Result<void> print_reference(Args args) {
  const VerbHelp help = {.usage = "kedge config reference",
                         .text = "Prints every key with its type, default and meaning.",
                         .flags = {}};
  const auto arguments = KEDGE_TRY(parse_or_help(args, help));
  if (!arguments) {
    return {};
  }
  if (!arguments->positionals().empty()) {
    return fail(ErrorKind::Usage,
                fmt::format("unexpected word '{}'", arguments->positionals().front()),
                fmt::format("usage: {}", help.usage));
  }
  fmt::print("{}", config::render_reference());
  return {};
}

}  // namespace

int run_config(Args args) {
  const VerbHelp help = {.usage =
                             "kedge config show [CONFIG] [key=value ...]\n       "
                             "kedge config reference",
                         .text =
                             "show: every effective value with its origin; reference: every "
                             "key with its type, default and meaning.",
                         .flags = {}};
  if (!args.empty() && args.front() == "show") {
    const auto shown = show_config(args.subspan(1));
    return shown ? kExitDone : report(shown.error());
  }
  if (!args.empty() && args.front() == "reference") {
    const auto printed = print_reference(args.subspan(1));
    return printed ? kExitDone : report(printed.error());
  }
  return help_or_unknown(args, help, {"show", "reference"});
}

}  // namespace kedge::cli
