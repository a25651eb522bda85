#include "jobs/software.h"

#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/hash.h"
#include "core/log.h"
#include "core/process.h"
#include "core/user_folders.h"

namespace kedge::jobs {
namespace {

namespace fs = std::filesystem;

// As the program beside `kedge`: sets the way to its libraries for itself alone, so that other
// programs of the job keep their own.
constexpr const char* kStarter = R"sh(#!/bin/sh
here=$(cd "$(dirname "$0")/.." && pwd) || exit
LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
exec "$here/lib/kedge-train" "$@"
)sh";

// The C library belongs to the machine: its loader and its parts must be of one build. All else
// goes along, libstdc++ too, because a slot's may be older than ours.
bool is_of_the_machine(const std::string& name) {
  for (const char* prefix : {"ld-linux", "libc.so", "libm.so", "libpthread.so", "libdl.so",
                             "librt.so", "libutil.so", "linux-vdso"}) {
    if (name.starts_with(prefix)) {
      return true;
    }
  }
  return false;
}

// "	libc10.so => /opt/torch/lib/libc10.so (0x7f...)": name and file.
Result<std::map<std::string, Path>> find_libraries(const Path& program) {
  const auto answer = KEDGE_TRY(run_process({.args = {"ldd", program.string()}}));
  if (!answer.is_ok()) {
    return fail(ErrorKind::Unavailable,
                fmt::format("ldd {} failed: {}", program.string(), answer.errors));
  }
  std::map<std::string, Path> libraries;
  std::istringstream lines(answer.output);
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string name;
    std::string arrow;
    std::string file;
    words >> name >> arrow >> file;
    if (arrow != "=>" || is_of_the_machine(name)) {
      continue;
    }
    if (!file.starts_with('/')) {
      return fail(ErrorKind::NotFound,
                  fmt::format("{} needs {}, which is not here", program.string(), name),
                  "does kedge-train run on this machine?");
    }
    libraries[name] = file;
  }
  return libraries;
}

bool is_library(const Path& file) {
  const std::string name = file.filename().string();
  return name.find(".so") != std::string::npos && name.find("python") == std::string::npos;
}

// libtorch's CUDA part and our plugin. Half of CUDA's libraries are opened by name when they are
// needed, which ldd does not see: where one of a folder is needed, all of that folder go along.
Result<void> add_cuda(std::map<std::string, Path>& contents, const Path& torch_cpu,
                      const Path& kedge) {
  const Path torch_cuda = torch_cpu.parent_path() / "libtorch_cuda.so";
  const Path plugin = kedge.parent_path().parent_path() / "lib" / "libkedge_cuda.so";
  std::error_code error;
  if (!fs::exists(torch_cuda, error) || !fs::exists(plugin, error)) {
    warn(
        "libtorch's CUDA part is not on this machine: the job would train on the slot's CPU; "
        "`./dev setup --torch cuda` fetches it, or name an image that has it as job.container");
    return {};
  }
  std::set<Path> folders = {torch_cuda.parent_path()};
  const auto libraries = KEDGE_TRY(find_libraries(torch_cuda));
  for (const auto& [name, file] : libraries) {
    contents["lib/" + name] = file;
    if (file.string().find("/nvidia/") != std::string::npos) {
      folders.insert(file.parent_path());
    }
  }
  for (const Path& folder : folders) {
    fs::directory_iterator entry(folder, error);
    for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
      if (is_library(entry->path())) {
        contents["lib/" + entry->path().filename().string()] = entry->path();
      }
    }
  }
  contents["lib/libkedge_cuda.so"] = plugin;
  return {};
}

// Name in the archive, file.
Result<std::map<std::string, Path>> list_contents(const SoftwareOptions& options) {
  std::map<std::string, Path> contents = {{"bin/kedge", options.kedge}};
  if (!options.has_trainer) {
    return contents;
  }
  const Path trainer = options.kedge.parent_path() / "kedge-train";
  std::error_code error;
  if (!fs::exists(trainer, error)) {
    return fail(ErrorKind::NotFound, fmt::format("there is no {}", trainer.string()),
                "build it (./dev build), or name an image that has it as job.container");
  }
  contents["lib/kedge-train"] = trainer;
  const auto libraries = KEDGE_TRY(find_libraries(trainer));
  for (const auto& [name, file] : libraries) {
    contents["lib/" + name] = file;
  }
  const auto torch = libraries.find("libtorch_cpu.so");
  if (options.has_cuda && torch != libraries.end()) {
    KEDGE_TRY(add_cuda(contents, torch->second, options.kedge));
  }
  return contents;
}

// Of names, sizes and times: another build gets another archive.
Result<std::string> identity(const std::map<std::string, Path>& contents) {
  std::string text = kStarter;
  for (const auto& [name, file] : contents) {
    struct stat facts{};
    if (::stat(file.c_str(), &facts) != 0) {
      return std::unexpected(io_error("cannot read", file, errno));
    }
    text += fmt::format("{} {} {} {}.{}\n", name, file.string(), facts.st_size,
                        facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec);
  }
  return fmt::format("{:016x}", xxh3_64(as_bytes(text)));
}

// `place` puts a file under a name.
Result<void> place_contents(
    const Path& folder, const std::map<std::string, Path>& contents,
    const std::function<void(const Path&, const Path&, std::error_code&)>& place) {
  for (const auto& [name, file] : contents) {
    const Path path = folder / name;
    KEDGE_TRY(make_dirs(path.parent_path()));
    std::error_code error;
    place(fs::absolute(file), path, error);
    if (error) {
      return std::unexpected(io_error("cannot make", path, error.value()));
    }
  }
  if (!contents.contains("lib/kedge-train")) {
    return {};
  }
  const Path starter = folder / "bin" / "kedge-train";
  KEDGE_TRY(write_file_atomic(starter, kStarter));
  std::error_code ignored;
  fs::permissions(starter, fs::perms(0755), ignored);
  return {};
}

Result<void> pack(const Path& folder, const Path& archive) {
  // gzip and not better: every machine's tar can read it. Level 1 is a third of the time of 6 and
  // costs a tenth in size.
  const auto answer =
      KEDGE_TRY(run_process({.args = {"tar", "--dereference", "--use-compress-program=gzip -1",
                                      "-cf", archive.string(), "-C", folder.string(), "."}}));
  if (!answer.is_ok()) {
    return fail(ErrorKind::Unavailable, fmt::format("tar failed: {}", answer.errors));
  }
  return {};
}

}  // namespace

Result<Path> make_software_archive(const SoftwareOptions& options) {
  const auto contents = KEDGE_TRY(list_contents(options));
  const Path cache = (options.cache.empty() ? cache_folder() : options.cache) / "software";
  const Path archive = cache / fmt::format("kedge-{}.tar.gz", KEDGE_TRY(identity(contents)));
  std::error_code error;
  if (fs::exists(archive, error)) {
    return archive;
  }
  KEDGE_TRY(make_dirs(cache));
  if (options.has_trainer) {
    say("kedge: packing kedge-train and libtorch{} for machines without them (once for each build)",
        contents.contains("lib/libtorch_cuda.so") ? " with CUDA" : "");
  }
  const Path folder = cache / fmt::format("packing-{}", ::getpid());
  auto made = place_contents(folder, contents, [](const Path& from, const Path& to, auto& failed) {
    fs::create_symlink(from, to, failed);
  });
  if (made) {
    made = replace_file(archive, [&](const Path& beside) { return pack(folder, beside); });
  }
  fs::remove_all(folder, error);
  if (!made) {
    return std::unexpected(made.error());
  }
  return archive;
}

Result<void> copy_software(const SoftwareOptions& options, const Path& folder) {
  const auto contents = KEDGE_TRY(list_contents(options));
  return place_contents(folder, contents, [](const Path& from, const Path& to, auto& failed) {
    fs::copy_file(from, to, fs::copy_options::overwrite_existing, failed);
  });
}

}  // namespace kedge::jobs
