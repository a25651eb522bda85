// kedge ckpt reshard.
#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "checkpoint/checkpoint.h"
#include "cli/ckpt.h"
#include "cli/shared/arguments.h"
#include "cli/shared/json_output.h"
#include "cli/verbs.h"
#include "core/file.h"
#include "core/result.h"
#include "core/units.h"

namespace kedge::cli {

Result<int> ckpt_reshard(Args args) {
  const VerbHelp help = {
      .usage = "kedge ckpt reshard CKPT|RUN OUT --shards N",
      .text =
          "Writes a checkpoint (of a run, its best) again with its tensors in N files a part. "
          "kedge "
          "itself reads any number: this is for other programs, and for storage that likes few "
          "large files or many small ones.",
      .flags = {{"--shards", "N", "files a part (1)"}, kJsonFlag}};
  const auto arguments = KEDGE_TRY(parse_or_help(args, help));
  if (!arguments) {
    return kExitDone;
  }
  KEDGE_TRY(check_positionals(*arguments, 2, "a checkpoint or a run, and an output folder"));
  const std::int64_t shards = KEDGE_TRY(arguments->number("--shards", 1));
  constexpr std::int64_t kMost = 10'000;
  if (shards < 1 || shards > kMost) {
    return fail(ErrorKind::Usage, fmt::format("--shards is {}", shards),
                fmt::format("it must be from 1 to {}", kMost));
  }
  const Path output = arguments->positionals()[1];
  std::error_code ignored;
  if (std::filesystem::exists(output, ignored)) {
    return fail(ErrorKind::Usage, fmt::format("{} exists already", output.string()),
                "name a new folder");
  }
  const auto checkpoint = KEDGE_TRY(open_checkpoint_of(arguments->positionals()[0]));
  KEDGE_TRY(checkpoint.verify());
  std::vector<checkpoint::Part> parts;
  for (const std::string& name : checkpoint.part_names()) {
    parts.push_back({.name = name, .tensors = checkpoint.part(name).tensors()});
  }
  KEDGE_TRY(checkpoint::write_checkpoint(output, parts, checkpoint.state(), shards));
  const auto written = KEDGE_TRY(checkpoint::Checkpoint::open(output));
  KEDGE_TRY(written.verify());
  if (arguments->has("--json")) {
    const nlohmann::json result = {{"path", output.string()},
                                   {"checkpoint", checkpoint.path().string()},
                                   {"shards", shards},
                                   {"bytes", written.bytes()}};
    print_json(result);
  } else {
    fmt::print("wrote {} ({} in {} shards a part, verified): {}\n", output.string(),
               render_bytes({written.bytes()}), shards, checkpoint.path().string());
  }
  return kExitDone;
}

}  // namespace kedge::cli
