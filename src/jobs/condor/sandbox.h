// What is where in the scratch folder of a slot. It is laid out like the folder that the job was
// submitted from: inputs keep their relative paths, and words of the command that name files there
// are made to name them here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/file.h"
#include "core/result.h"
#include "jobs/job_spec.h"
#include "jobs/launcher.h"

namespace kedge::jobs::condor {

// Names in the job's folder and in the scratch folder.
inline constexpr const char* kInputArchive = "inputs.tar";
inline constexpr const char* kItems = "items";  // a line per task of an array
inline constexpr const char* kSoftwareArchive = "software.tar.gz";
inline constexpr const char* kJobFiles = ".kedge/job";  // in the scratch folder

// A file that is sent by itself: it is large, or has an address.
struct SentInput {
  std::string source;  // absolute path or address
  std::string place;   // relative to the scratch folder
};

// A file or folder that travels inside the archive.
struct PackedInput {
  Path folder;       // tar -C
  std::string name;  // relative to it, and to the scratch folder
};

struct Inputs {
  std::vector<SentInput> sent;
  std::vector<PackedInput> packed;
};

// What `kedge train` reads and writes, out of the config that it will run with.
struct Training {
  std::string runs = {};  // track.dir
  std::string run = {};   // its folder: <track.dir>/<project>/<id>
  std::string data = {};  // empty: made up, or none
};

// Nothing for other programs. Errors: Usage, for a config that is not sound.
Result<std::optional<Training>> find_training(const JobSpec& spec);

// Agents of a sweep work in its folder, and several machines of one job save into one: they need
// machines that share a file system with us. Such a job runs where it was submitted, and nothing
// travels.
bool is_shared(const JobSpec& spec);

// Files from this size are sent by themselves: packing would only copy them.
inline constexpr std::uint64_t kSentAlone_bytes = 64'000'000;

// job.inputs, and the data of kedge train. Errors: Usage, for an input that is not there.
Result<Inputs> sort_inputs(const JobSpec& spec);

// The word of a command as it must be in the slot.
std::string word_inside(std::string_view word, const JobSpec& spec, const SubmissionPlace& place);

// Folders and files that come home, relative; the run folder of kedge train among them.
Result<std::vector<std::string>> outputs_of(const JobSpec& spec);

}  // namespace kedge::jobs::condor
