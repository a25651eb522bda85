// attempts/<n>.json of a run: what is in it, who gets a number, when it was last touched.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/file.h"
#include "core/result.h"
#include "track/attempt.h"
#include "track/internal/identity.h"

namespace kedge::track {

struct AttemptFile {
  ProcessIdentity process;
  std::string version;
  std::string started;
  std::string ended;
  std::string state;  // running, or how it ended
  std::optional<std::int64_t> from_step;
  std::vector<ConfigChange> changes;
};

Path attempt_path(const Path& run, int number);

// Ascending; empty when there is no attempts folder.
Result<std::vector<int>> list_attempt_numbers(const Path& run);

std::string render_attempt(const AttemptFile& attempt);

// Nothing when it is not there or not what it should be.
std::optional<AttemptFile> read_attempt(const Path& path);

// Writes attempts/<number>.json unless it exists: false when somebody else has the number. Names
// are made by link(), which has one winner on network file systems too.
Result<bool> claim_attempt(const Path& run, int number, std::string_view content);

// The same on file systems without hard links: the file is empty for a moment.
Result<bool> claim_attempt_without_link(const Path& run, int number, std::string_view content);

// Removes what processes killed inside claim_attempt() left, once it is older than `age_s`.
void remove_stale_claims(const Path& run, double age_s);

// Unix time of the last change as the file server has it, not as this machine remembers it.
std::optional<double> find_modified_s(const Path& path);

// The file server's clock, read by touching a file of our own beside the attempts.
class ServerClock {
 public:
  explicit ServerClock(const Path& run);
  ServerClock(const ServerClock&) = delete;
  ServerClock& operator=(const ServerClock&) = delete;
  ~ServerClock();

  double now_s() const;  // this machine's time where the folder cannot be written to

 private:
  Path path_;
  OwnedFd fd_;
};

// Unix time of an ISO 8601 time as utc_now() writes it.
std::optional<double> parse_utc(const std::string& text);

}  // namespace kedge::track
