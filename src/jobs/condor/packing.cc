#include "jobs/condor/packing.h"

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/process.h"
#include "jobs/condor/sandbox.h"
#include "jobs/software.h"

namespace kedge::jobs::condor {
namespace {

namespace fs = std::filesystem;

// Of kedge train only its own run: there may be hundreds beside it.
Result<std::vector<std::string>> what_earlier_tries_left(const JobSpec& spec) {
  std::vector<std::string> kept;
  if (!spec.is_resumable() || spec.is_array()) {
    return kept;
  }
  const auto training = KEDGE_TRY(find_training(spec));
  for (const std::string& output : KEDGE_TRY(outputs_of(spec))) {
    const std::string& name = training && output == training->runs ? training->run : output;
    std::error_code error;
    if (fs::exists(spec.folder / name, error)) {
      kept.push_back(name);
    }
  }
  return kept;
}

Result<void> pack_inputs(const JobSpec& spec, const Path& folder, const Path& archive) {
  std::vector<std::string> args = {"tar", "--create", "--file", archive.string()};
  const auto add = [&](const Path& from, const std::string& name) {
    args.insert(args.end(), {"--directory", from.string(), "--add-file", name});
  };
  std::error_code error;
  const Inputs inputs = KEDGE_TRY(sort_inputs(spec));
  for (const PackedInput& input : inputs.packed) {
    add(input.folder, input.name);
  }
  for (const std::string& kept : KEDGE_TRY(what_earlier_tries_left(spec))) {
    add(spec.folder, kept);
  }
  // Under the name that words of the command have been given.
  const Path staging = folder / "packing";
  fs::remove_all(staging, error);
  KEDGE_TRY(make_dirs(staging / kJobFiles));
  for (const auto& [name, text] : spec.files) {
    KEDGE_TRY(write_file_atomic(staging / kJobFiles / name, text));
  }
  if (!spec.items.empty()) {
    KEDGE_TRY(write_file_atomic(staging / kJobFiles / kItems,
                                fmt::format("{}\n", fmt::join(spec.items, "\n"))));
  }
  add(staging, kJobFiles);
  const auto answer = run_process({.args = std::move(args)});
  fs::remove_all(staging, error);
  if (!answer || !answer->is_ok()) {
    return fail(ErrorKind::Unavailable,
                fmt::format("the inputs cannot be packed: {}",
                            answer ? answer->errors : answer.error().message));
  }
  return {};
}

Result<void> bring_software(const JobSpec& spec, const Path& folder, const Path& kedge) {
  // Verbs such as eval and predict are kedge-train's too.
  const bool is_ours = spec.is_kedge || spec.command.front() == kedge.string();
  const Path archive = KEDGE_TRY(make_software_archive(
      {.kedge = kedge, .has_trainer = is_ours, .has_cuda = spec.wants.gpus > 0}));
  const Path link = folder / kSoftwareArchive;
  std::error_code error;
  fs::remove(link, error);
  fs::create_symlink(archive, link, error);
  return error ? std::unexpected(io_error("cannot make", link, error.value())) : Result<void>();
}

}  // namespace

Result<void> pack_job(const JobSpec& spec, const Path& folder, const Path& kedge) {
  if (is_shared(spec)) {
    return {};
  }
  KEDGE_TRY(pack_inputs(spec, folder, folder / kInputArchive));
  return spec.wants.container.empty() ? bring_software(spec, folder, kedge) : Result<void>();
}

}  // namespace kedge::jobs::condor
