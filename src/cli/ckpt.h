// The verbs of `kedge ckpt` and what they share: which checkpoints a path on the command line
// means.
#pragma once

#include <optional>
#include <string>

#include "checkpoint/checkpoint.h"
#include "checkpoint/library.h"
#include "cli/shared/arguments.h"
#include "cli/verbs.h"
#include "config/load.h"
#include "core/file.h"
#include "core/result.h"

namespace kedge::cli {

// Each returns the exit code.
Result<int> ckpt_ls(Args args);
Result<int> ckpt_show(Args args);
Result<int> ckpt_verify(Args args);
Result<int> ckpt_diff(Args args);
Result<int> ckpt_prune(Args args);
Result<int> ckpt_export(Args args);
Result<int> ckpt_reshard(Args args);

bool is_checkpoint(const Path& path);

// The config that the run was started with; nothing where there is none or this kedge cannot read
// it.
std::optional<config::LoadedConfig> config_of_run(const Path& run);

// The folders with the checkpoints of a run: `run` is its folder, or the checkpoints/ in it.
Result<checkpoint::Folders> folders_of_run(const Path& run);

// `path` is a checkpoint, or a run: then its best checkpoint, or the newest where none has a score.
Result<checkpoint::Checkpoint> open_checkpoint_of(const Path& path);

// The one positional argument, or the two, ...; `what` names them in the error.
Result<void> check_positionals(const Arguments& arguments, std::size_t count,
                               std::string_view what);

// "-" where there is none.
std::string render_score(const std::optional<double>& score);

}  // namespace kedge::cli
