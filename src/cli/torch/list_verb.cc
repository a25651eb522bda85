#include "cli/shared/arguments.h"
#include "cli/shared/plugin_table.h"
#include "cli/torch/verbs.h"
#include "train/plugins.h"

namespace kedge::cli {

// `kedge list` has checked the kind.
Result<void> run_list_torch(const Invocation& invocation) {
  const auto arguments =
      KEDGE_TRY(Arguments::parse(invocation.args, {.usage = "", .text = "", .flags = {kJsonFlag}}));
  if (arguments.positionals().size() == 1) {
    print_plugins(train::list_plugins(arguments.positionals().front()), arguments.has("--json"));
  }
  return {};
}

}  // namespace kedge::cli
