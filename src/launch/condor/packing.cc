#include "launch/condor/packing.h"

#include <array>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "core/process.h"
#include "launch/condor/sandbox.h"
#include "launch/condor/software.h"

namespace kedge::launch::condor {
namespace {

namespace fs = std::filesystem;

// Of the job's own folder: what the command may read. Not what was submitted, and no secrets.
constexpr std::array kTaken = {"config.yaml", kItems};

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
  for (const std::string& output : outputs_of(spec)) {
    if (spec.is_resumable() && fs::exists(spec.folder / output, error)) {
      add(spec.folder, output);
    }
  }
  // Under the name that words of the command have been given.
  const Path staging = folder / "packing";
  fs::remove_all(staging, error);
  KEDGE_TRY(make_dirs(staging / kJobFiles));
  for (const char* name : kTaken) {
    if (fs::exists(folder / name, error)) {
      fs::copy_file(folder / name, staging / kJobFiles / name, error);
    }
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
  const Path archive =
      KEDGE_TRY(make_software_archive({.kedge = kedge, .has_trainer = spec.is_kedge}));
  const Path link = folder / kSoftwareArchive;
  std::error_code error;
  fs::remove(link, error);
  fs::create_symlink(archive, link, error);
  return error ? std::unexpected(io_error("cannot make", link, error.value())) : Result<void>();
}

}  // namespace

Result<void> pack_job(const JobSpec& spec, const Path& folder, const Path& kedge) {
  KEDGE_TRY(pack_inputs(spec, folder, folder / kInputArchive));
  return spec.wants.container.empty() ? bring_software(spec, folder, kedge) : Result<void>();
}

}  // namespace kedge::launch::condor
