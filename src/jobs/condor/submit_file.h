// An HTCondor submit file as plain data, and its text. Values are text, not submit language: what
// condor_submit would expand or cut (dollar signs, quotes) is written so that it comes back the
// same, except for the macros a queue statement declares and $(ClusterId), $(ProcId) and their
// like.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "jobs/gpu_catalogue.h"

namespace kedge::jobs::condor {

enum class Universe : std::uint8_t { Vanilla, Container, Docker, Parallel };

struct Requests {
  std::int64_t cpus = 1;
  std::int64_t memory_mb = 0;  // HTCondor's MB are of 1024 * 1024 bytes; 0: the site's default
  std::int64_t disk_mb = 0;
  std::int64_t gpus = 0;
  // As $(disk:500MB), so that `condor_submit FILE disk=2GB` changes them for one submit.
  bool can_be_overridden = false;
};

struct GpuRequirements {
  std::optional<Capability> least_capability = {};
  std::optional<Capability> most_capability = {};
  std::int64_t memory_mb = 0;
  std::vector<std::string> expressions = {};  // of a GPU's properties: "DriverVersion >= 11.1"
};

struct Transfer {
  std::vector<std::string> inputs = {};  // paths, or addresses: osdf://, file://, http://, ...
  // Patterns of inputs that are encrypted on their way, also where the pool encrypts nothing else.
  std::vector<std::string> encrypted = {};
  std::vector<std::string> outputs = {};
  std::vector<std::string> checkpoint_files = {};
  std::map<std::string, std::string> output_names = {};  // what an output is called at home
  bool also_when_evicted = true;
  bool is_needed = true;  // false: the machine must share our file system
};

// What CHTC and the OSPool read, besides HTCondor itself.
struct SiteFlags {
  bool wants_gpu_lab = false;
  std::string gpu_job_length = "";  // short | medium | long
  // May run as backfill on machines whose owners can take them back at any time.
  bool is_resumable = false;
  std::optional<bool> wants_flocking = {};
  std::optional<bool> wants_glidein = {};
  std::optional<bool> wants_campus_pools = {};
  std::optional<bool> wants_ospool = {};
};

enum class QueueKind : std::uint8_t { Count, FromRows, FromFile, In, Matching };

struct Queue {
  QueueKind kind = QueueKind::Count;
  std::int64_t count = 1;  // jobs, or jobs per item
  std::vector<std::string> variables = {};
  std::vector<std::vector<std::string>> rows = {};  // FromRows: a value for each variable
  std::vector<std::string> items = {};              // In: values; Matching: patterns
  std::string file = "";                            // FromFile
};

struct SubmitFile {
  std::string comment = "";
  Universe universe = Universe::Vanilla;
  std::string image = "";           // docker://, oras://, osdf://, file://, a .sif
  std::string docker_network = "";  // Docker alone: "host"
  std::int64_t machines = 1;        // Parallel alone: as many at once, and the job ends with all
  std::string executable = "";
  bool transfers_executable = true;
  std::vector<std::string> arguments = {};
  std::map<std::string, std::string> environment = {};
  std::string initial_folder = "";
  std::string output = "";
  std::string error = "";
  std::string log = "";
  bool streams_output = false;
  bool streams_error = false;
  std::string batch_name = "";
  std::string accounting_group = "";
  Requests requests = {};
  GpuRequirements gpu = {};
  std::vector<std::string> requirements = {};  // expressions that must all hold
  Transfer transfer = {};
  std::optional<int> checkpoint_exit_code = {};
  std::int64_t max_retries = 0;
  std::int64_t max_materialize = 0;    // jobs in the queue at once; 0: all
  std::int64_t allowed_execute_s = 0;  // of each start; beyond it the job is held
  std::int64_t allowed_job_s = 0;      // of each match, restarts in place included
  std::string on_exit_remove = "";     // expression: whether an end is the end, or it runs again
  std::string periodic_remove = "";    // expression
  std::int64_t max_vacate_s = 0;
  SiteFlags site = {};
  std::map<std::string, std::string> attributes = {};  // name, expression: +Name = expression
  std::vector<std::string> lines = {};                 // of the submit language, as they are
  Queue queue = {};
};

// Errors: Usage, for what no submit file can say (a comma in a file's name, a line break).
Result<std::string> render(const SubmitFile& file);

// A string as ClassAds write it, with its quotes.
std::string class_ad_string(std::string_view text);

}  // namespace kedge::jobs::condor
