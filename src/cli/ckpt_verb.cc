#include <array>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "checkpoint/checkpoint.h"
#include "checkpoint/library.h"
#include "cli/ckpt.h"
#include "cli/shared/arguments.h"
#include "cli/verbs.h"
#include "config/load.h"
#include "core/file.h"
#include "core/result.h"

namespace kedge::cli {
namespace {

struct CkptVerb {
  std::string_view name;
  Result<int> (*run)(Args);  // null: kedge-train has it
};

constexpr auto kCkptVerbs = std::to_array<CkptVerb>({
    {"ls", ckpt_ls},
    {"show", ckpt_show},
    {"verify", ckpt_verify},
    {"diff", ckpt_diff},
    {"prune", ckpt_prune},
    {"export", ckpt_export},
    {"reshard", ckpt_reshard},
    {"estimate", nullptr},
});

bool is_folder(const Path& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error);
}

}  // namespace

bool is_checkpoint(const Path& path) {
  std::error_code error;
  return std::filesystem::exists(path / "manifest.json", error) ||
         (!is_folder(path) && std::filesystem::exists(path.string() + ".old", error));
}

std::optional<config::LoadedConfig> config_of_run(const Path& run) {
  std::error_code error;
  const Path file = run / "config.yaml";
  if (!std::filesystem::exists(file, error)) {
    return std::nullopt;
  }
  auto config = config::load_config({.file = file});
  if (!config) {
    return std::nullopt;
  }
  return std::move(*config);
}

Result<checkpoint::Folders> folders_of_run(const Path& given) {
  const Path path = given.has_filename() ? given : given.parent_path();
  const bool is_inside = path.filename() == "checkpoints" && is_folder(path);
  const Path run = is_inside ? std::filesystem::absolute(path).parent_path() : path;
  const Path durable = is_inside ? path : path / "checkpoints";
  if (!is_folder(durable)) {
    return fail(ErrorKind::NotFound,
                is_folder(path) ? fmt::format("{} holds no checkpoints", path.string())
                                : fmt::format("there is no folder {}", path.string()),
                "name a run folder (runs/<project>/<id>) or a folder under its checkpoints/");
  }
  checkpoint::Folders folders{.durable = durable};
  const auto config = config_of_run(run);
  if (config && !(*config)->checkpoint.fast_dir.empty()) {
    folders.fast = Path((*config)->checkpoint.fast_dir) / (*config)->run.project / run.filename();
  }
  return folders;
}

Result<checkpoint::Checkpoint> open_checkpoint_of(const Path& path) {
  if (is_checkpoint(path)) {
    return checkpoint::Checkpoint::open(path);
  }
  const auto listing = KEDGE_TRY(checkpoint::list_checkpoints(KEDGE_TRY(folders_of_run(path))));
  const auto& entries = listing.entries;
  if (entries.empty()) {
    return fail(ErrorKind::NotFound, fmt::format("{} holds no checkpoints", path.string()));
  }
  const auto* best = checkpoint::find_best(entries, entries.back().more_is_better);
  return checkpoint::Checkpoint::open(best != nullptr ? best->path : entries.back().path);
}

Result<void> check_positionals(const Arguments& arguments, std::size_t count,
                               std::string_view what) {
  if (arguments.positionals().size() != count || !arguments.overrides().empty()) {
    return fail(ErrorKind::Usage, fmt::format("this verb needs {}", what),
                "RUN is a run folder (runs/<project>/<id>), CKPT a folder under its checkpoints/");
  }
  return {};
}

std::string render_score(const std::optional<double>& score) {
  return score ? fmt::format("{:.6g}", *score) : "-";
}

int run_ckpt(Args args) {
  const VerbHelp help = {
      .usage =
          "kedge ckpt ls RUN\n       "
          "kedge ckpt show CKPT|RUN [--tensors]\n       "
          "kedge ckpt verify RUN|CKPT ...\n       "
          "kedge ckpt diff A B\n       "
          "kedge ckpt prune RUN [--keep-last N] [--keep-best N] [--keep-every WHEN] [--dry-run]\n"
          "       "
          "kedge ckpt export CKPT|RUN OUT.pt|OUT.safetensors [--part NAME]\n       "
          "kedge ckpt estimate [CONFIG] [key=value ...]",
      .text =
          "Checkpoints. RUN is a run folder, CKPT a folder under its checkpoints/. All take "
          "--json; `kedge ckpt VERB --help` says more.",
      .flags = {}};
  std::vector<std::string> names;
  for (const CkptVerb& verb : kCkptVerbs) {
    names.emplace_back(verb.name);
    if (args.empty() || args.front() != verb.name) {
      continue;
    }
    if (verb.run == nullptr) {
      return run_in_kedge_train("ckpt", args);
    }
    const auto code = verb.run(args.subspan(1));
    return code ? *code : report(code.error());
  }
  return help_or_unknown(args, help, names);
}

}  // namespace kedge::cli
