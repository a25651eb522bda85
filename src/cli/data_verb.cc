#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/data.h"
#include "cli/shared/arguments.h"
#include "cli/verbs.h"
#include "core/log.h"
#include "data/get.h"

namespace kedge::cli {
namespace {

Result<void> get_data_sets(Args args) {
  const std::string text = fmt::format("Fetches data sets and verifies them. NAME: {}.",
                                       fmt::join(data::list_gettable(), ", "));
  const VerbHelp help = {.usage = "kedge data get NAME ...",
                         .text = text,
                         .flags = {{"--root", "DIR", "where to put them (data)"}}};
  const auto arguments = KEDGE_TRY(parse_or_help(args, help));
  if (!arguments) {
    return {};
  }
  if (arguments->positionals().empty()) {
    return fail(ErrorKind::Usage, "data get needs the name of a data set",
                fmt::format("known: {}", fmt::join(data::list_gettable(), ", ")));
  }
  for (const std::string& name : arguments->positionals()) {
    const Path path = KEDGE_TRY(data::get_data(name, arguments->value("--root", "data")));
    say("{} is in {}", name, path.string());
  }
  return {};
}

}  // namespace

int run_data(Args args) {
  if (!args.empty() && args.front() == "get") {
    const auto done = get_data_sets(args.subspan(1));
    return done ? kExitDone : report(done.error());
  }
  if (!args.empty() && args.front() == "tokenize") {
    const auto done = tokenize_data(args.subspan(1));
    return done ? kExitDone : report(done.error());
  }
  const VerbHelp help = {.usage = "kedge data get|tokenize ...",
                         .text =
                             "get: fetch and verify public data sets. tokenize: text to token "
                             "files for language models.",
                         .flags = {}};
  return help_or_unknown(args, help, {"get", "tokenize"});
}

}  // namespace kedge::cli
