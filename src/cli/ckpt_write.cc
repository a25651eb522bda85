// kedge ckpt prune and export.
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "checkpoint/checkpoint.h"
#include "checkpoint/library.h"
#include "checkpoint/tensor_file.h"
#include "cli/ckpt.h"
#include "cli/shared/arguments.h"
#include "cli/shared/json_output.h"
#include "cli/verbs.h"
#include "config/interval.h"
#include "core/file.h"
#include "core/result.h"
#include "core/units.h"
#include "track/attempt.h"

namespace kedge::cli {
namespace {

using checkpoint::Entry;
using checkpoint::Retention;

Result<void> set_interval(Retention& retention, const std::string& text) {
  const auto interval = KEDGE_TRY(config::parse_keep_interval(text));
  retention.keep_every_epochs = interval.epochs;
  retention.keep_every_steps = interval.steps;
  return {};
}

// What the run's config says, and over it what the command line says.
Result<Retention> retention_of(const Path& run, const Arguments& arguments, bool more_is_better) {
  Retention retention{.more_is_better = more_is_better};
  if (const auto config = config_of_run(run)) {
    const auto& section = (*config)->checkpoint;
    retention.keep_last = section.keep_last;
    retention.keep_best = section.keep_best;
    KEDGE_TRY(set_interval(retention, section.keep_every));
  }
  retention.keep_last = KEDGE_TRY(arguments.number("--keep-last", retention.keep_last));
  retention.keep_best = KEDGE_TRY(arguments.number("--keep-best", retention.keep_best));
  if (arguments.has("--keep-every")) {
    KEDGE_TRY(set_interval(retention, arguments.value("--keep-every")));
  }
  return retention;
}

Result<void> check_nobody_trains(const Path& run) {
  const auto holder = KEDGE_TRY(track::find_live_holder(run));
  if (holder) {
    return fail(ErrorKind::Unavailable,
                fmt::format("{} is being trained by process {} on {}", run.string(), holder->pid,
                            holder->host),
                "it removes old checkpoints itself; wait for its end, or look with --dry-run");
  }
  return {};
}

// Nothing goes while the one that stays as the newest may be damaged.
Result<void> check_newest(const Entry& newest) {
  const auto checkpoint = checkpoint::Checkpoint::open(newest.path);
  auto verified = checkpoint ? checkpoint->verify() : std::unexpected(checkpoint.error());
  if (!verified) {
    verified.error().hint = "nothing was removed; `kedge ckpt verify` checks the others";
  }
  return verified;
}

Result<void> remove_all(const std::vector<Entry>& expired, std::vector<Entry>& entries) {
  for (const Entry& entry : expired) {
    KEDGE_TRY(checkpoint::remove_checkpoint(entry));
    std::erase_if(entries, [&](const Entry& other) { return other.path == entry.path; });
  }
  return {};
}

void print_pruned(const std::vector<Entry>& expired, std::size_t kept, const Arguments& arguments) {
  const bool is_dry = arguments.has("--dry-run");
  const bool as_json = arguments.has("--json");
  nlohmann::json names = nlohmann::json::array();
  std::uint64_t bytes = 0;
  for (const Entry& entry : expired) {
    bytes += entry.bytes;
    names.push_back(entry.name);
    if (!as_json) {
      fmt::print("{} {} (step {}, {})\n", is_dry ? "would remove" : "removed", entry.name,
                 entry.step, render_bytes({entry.bytes}));
    }
  }
  if (as_json) {
    const nlohmann::json result = {
        {"removed", names}, {"bytes", bytes}, {"kept", kept}, {"is_dry_run", is_dry}};
    print_json(result);
    return;
  }
  fmt::print("{} of {} checkpoints {}, {} {}\n", expired.size(), kept + expired.size(),
             is_dry ? "would go" : "removed", render_bytes({bytes}),
             is_dry ? "would be free" : "freed");
}

// What was validated: the averaged weights where there are any.
std::string default_part(const checkpoint::Checkpoint& checkpoint) {
  return checkpoint.has_part("ema") ? "ema" : "model";
}

}  // namespace

Result<int> ckpt_prune(Args args) {
  const VerbHelp help = {
      .usage =
          "kedge ckpt prune RUN [--keep-last N] [--keep-best N] [--keep-every WHEN] [--dry-run]",
      .text =
          "Removes old checkpoints of a run that nobody trains. What is kept: what the run's "
          "config says (checkpoint.keep_last, keep_best, keep_every), or the options; the newest "
          "always.",
      .flags = {{"--keep-last", "N", "how many of the newest"},
                {"--keep-best", "N", "how many of the best"},
                {"--keep-every", "WHEN", "10 epochs, 5000 steps, never"},
                {"--dry-run", "", "only say what would go"},
                kJsonFlag}};
  const auto arguments = KEDGE_TRY(parse_or_help(args, help));
  if (!arguments) {
    return kExitDone;
  }
  KEDGE_TRY(check_positionals(*arguments, 1, "a run"));
  // The fast folder is the trainer's own business.
  const checkpoint::Folders folders{
      .durable = KEDGE_TRY(folders_of_run(arguments->positionals().front())).durable};
  const Path run = std::filesystem::absolute(folders.durable).parent_path();
  auto entries = KEDGE_TRY(checkpoint::list_checkpoints(folders)).entries;
  const bool more_is_better = entries.empty() || entries.back().more_is_better;
  const Retention retention = KEDGE_TRY(retention_of(run, *arguments, more_is_better));
  const auto expired = checkpoint::choose_expired(entries, retention);
  const bool is_dry = arguments->has("--dry-run");
  if (!is_dry) {
    KEDGE_TRY(check_nobody_trains(run));
  }
  if (!is_dry && !expired.empty()) {
    KEDGE_TRY(check_newest(entries.back()));
  }
  if (!is_dry) {
    KEDGE_TRY(remove_all(expired, entries));
    KEDGE_TRY(checkpoint::update_links(folders.durable, entries, more_is_better));
  }
  print_pruned(expired, is_dry ? entries.size() - expired.size() : entries.size(), *arguments);
  return kExitDone;
}

Result<int> ckpt_export(Args args) {
  const VerbHelp help = {
      .usage = "kedge ckpt export CKPT|RUN OUT.pt|OUT.safetensors [--part NAME]",
      .text =
          "Writes the tensors of a checkpoint (of a run, its best) as a state dict for torch.load "
          "or as a safetensors file.",
      .flags = {{"--part", "NAME", "model, ema, optimizer, ... (ema if there, else model)"},
                kJsonFlag}};
  const auto arguments = KEDGE_TRY(parse_or_help(args, help));
  if (!arguments) {
    return kExitDone;
  }
  KEDGE_TRY(check_positionals(*arguments, 2, "a checkpoint or a run, and an output file"));
  const Path output = arguments->positionals()[1];
  if (output.extension() != ".pt" && output.extension() != ".safetensors") {
    return fail(ErrorKind::Usage, fmt::format("cannot tell the format of '{}'", output.string()),
                "end it in .pt (torch.load) or .safetensors");
  }
  const auto checkpoint = KEDGE_TRY(open_checkpoint_of(arguments->positionals()[0]));
  const std::string part = arguments->value("--part", default_part(checkpoint));
  if (!checkpoint.has_part(part)) {
    return fail(ErrorKind::NotFound,
                fmt::format("{} has no part '{}'", checkpoint.path().string(), part),
                fmt::format("it has: {}", fmt::join(checkpoint.part_names(), ", ")));
  }
  KEDGE_TRY(checkpoint.verify());
  const auto& file = checkpoint.part(part);
  if (output.extension() == ".pt") {
    KEDGE_TRY(checkpoint::write_torch_file(output, file.tensors()));
  } else {
    KEDGE_TRY(checkpoint::write_safetensors(output, file.tensors(), file.metadata()));
  }
  const std::uint64_t bytes = KEDGE_TRY(size_of_file(output));
  if (arguments->has("--json")) {
    const nlohmann::json result = {{"path", output.string()},
                                   {"checkpoint", checkpoint.path().string()},
                                   {"part", part},
                                   {"tensors", file.tensors().size()},
                                   {"bytes", bytes}};
    print_json(result);
  } else {
    fmt::print("wrote {} ({}, {} tensors): {} of {}\n", output.string(), render_bytes({bytes}),
               file.tensors().size(), part, checkpoint.path().string());
  }
  return kExitDone;
}

}  // namespace kedge::cli
