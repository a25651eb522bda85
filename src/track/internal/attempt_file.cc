#include "track/internal/attempt_file.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "core/file.h"
#include "core/host_name.h"
#include "core/inside.h"
#include "core/result.h"

namespace kedge::track {
namespace {

constexpr std::string_view kClaimPrefix = ".claim-";

Path attempts_folder(const Path& run) {
  return run / "attempts";
}

// 0 when the name is not that of an attempt.
int number_of(std::string_view name) {
  constexpr std::string_view kEnding = ".json";
  if (!name.ends_with(kEnding) || name.front() == '0') {
    return 0;
  }
  name.remove_suffix(kEnding.size());
  int number = 0;
  const auto parsed = std::from_chars(name.data(), name.data() + name.size(), number);
  const bool is_number = parsed.ec == std::errc{} && parsed.ptr == name.data() + name.size();
  return is_number && number > 0 ? number : 0;
}

// A name beside the attempts that no other thread, process or machine uses.
Path own_path(const Path& run, std::string_view prefix) {
  static std::atomic<unsigned> counter = 0;
  return attempts_folder(run) /
         fmt::format("{}{}-{}-{}", prefix, host_name(), ::getpid(), ++counter);
}

double to_seconds(const timespec& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

bool lacks_links(int error_number) {
  return error_number == EPERM || error_number == EOPNOTSUPP || error_number == ENOSYS ||
         error_number == EMLINK;
}

template <typename T>
T find_or(const nlohmann::json& json, const char* key, T fallback) {
  const auto found = json.find(key);
  if (found == json.end()) {
    return fallback;
  }
  if constexpr (std::is_same_v<T, std::string>) {
    return found->is_string() ? found->template get<T>() : fallback;
  } else {
    return found->is_number_integer() ? found->template get<T>() : fallback;
  }
}

std::vector<ConfigChange> parse_changes(const nlohmann::json& json) {
  std::vector<ConfigChange> changes;
  const auto found = json.find("changes");
  if (found == json.end() || !found->is_array()) {
    return changes;
  }
  for (const nlohmann::json& change : *found) {
    if (change.is_object()) {
      changes.push_back({find_or<std::string>(change, "key", ""),
                         find_or<std::string>(change, "before", ""),
                         find_or<std::string>(change, "after", "")});
    }
  }
  return changes;
}

}  // namespace

std::optional<double> parse_utc(const std::string& text) {
  std::tm time{};
  const char* end = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &time);
  if (end == nullptr || (*end != 'Z' && *end != '.')) {
    return std::nullopt;
  }
  return static_cast<double>(::timegm(&time));
}

Path attempt_path(const Path& run, int number) {
  return attempts_folder(run) / fmt::format("{}.json", number);
}

Result<std::vector<int>> list_attempt_numbers(const Path& run) {
  std::vector<int> numbers;
  std::error_code error;
  // Opening a folder makes a network file system ask its server; looking up a name may not.
  std::filesystem::directory_iterator entry(attempts_folder(run), error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    if (const int number = number_of(entry->path().filename().string()); number > 0) {
      numbers.push_back(number);
    }
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    return std::unexpected(io_error("cannot read folder", attempts_folder(run), error.value()));
  }
  std::ranges::sort(numbers);
  return numbers;
}

std::string render_attempt(const AttemptFile& attempt) {
  const ProcessIdentity& process = attempt.process;
  nlohmann::json json = {{"format", "kedge-attempt"},
                         {"version", 1},
                         {"host", process.host},
                         {"machine_id", process.machine_id},
                         {"boot_id", process.boot_id},
                         {"pid_namespace", process.pid_namespace},
                         {"pid", process.pid},
                         {"process_start", process.start_ticks},
                         {"user", process.user},
                         {"job", process.job},
                         {"job_starts", process.job_starts},
                         {"kedge", attempt.version},
                         {"started", attempt.started},
                         {"state", attempt.state}};
  if (attempt.from_step) {
    json["from_step"] = *attempt.from_step;
  }
  if (!attempt.changes.empty()) {
    nlohmann::json& changes = json["changes"] = nlohmann::json::array();
    for (const ConfigChange& change : attempt.changes) {
      changes.push_back({{"key", change.key}, {"before", change.before}, {"after", change.after}});
    }
  }
  if (!attempt.ended.empty()) {
    json["ended"] = attempt.ended;
  }
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::optional<AttemptFile> read_attempt(const Path& path) {
  const Path folder = path.parent_path();
  const auto text = read_inside(folder.parent_path(), folder.filename() / path.filename());
  if (!text) {
    return std::nullopt;
  }
  const auto json = nlohmann::json::parse(*text, nullptr, false);
  if (!json.is_object() || find_or<std::string>(json, "format", "") != "kedge-attempt") {
    return std::nullopt;
  }
  AttemptFile attempt;
  attempt.process = {.host = find_or<std::string>(json, "host", ""),
                     .machine_id = find_or<std::string>(json, "machine_id", ""),
                     .boot_id = find_or<std::string>(json, "boot_id", ""),
                     .pid_namespace = find_or<std::string>(json, "pid_namespace", ""),
                     .pid = find_or<std::int64_t>(json, "pid", 0),
                     .start_ticks = find_or<std::uint64_t>(json, "process_start", 0),
                     .user = find_or<std::string>(json, "user", ""),
                     .job = find_or<std::string>(json, "job", ""),
                     .job_starts = find_or<std::int64_t>(json, "job_starts", 0)};
  attempt.version = find_or<std::string>(json, "kedge", "");
  attempt.started = find_or<std::string>(json, "started", "");
  attempt.ended = find_or<std::string>(json, "ended", "");
  attempt.state = find_or<std::string>(json, "state", "");
  if (const auto step = json.find("from_step"); step != json.end() && step->is_number_integer()) {
    attempt.from_step = step->get<std::int64_t>();
  }
  attempt.changes = parse_changes(json);
  return attempt;
}

Result<bool> claim_attempt(const Path& run, int number, std::string_view content) {
  const Path own = own_path(run, kClaimPrefix);
  const Path target = attempt_path(run, number);
  if (auto written = write_synced(own, own, [&](int fd) { return write_all(fd, content, own); });
      !written) {
    ::unlink(own.c_str());
    return std::unexpected(written.error());
  }
  const int error = ::link(own.c_str(), target.c_str()) == 0 ? 0 : errno;
  // An answer lost on the way makes a client ask again and be told of its own success: the number
  // of names tells.
  struct stat info{};
  const bool is_ours = error == 0 || (::stat(own.c_str(), &info) == 0 && info.st_nlink == 2);
  ::unlink(own.c_str());
  if (is_ours) {
    KEDGE_TRY(sync_dir(attempts_folder(run)));
    return true;
  }
  if (error == EEXIST) {
    return false;
  }
  if (lacks_links(error)) {
    return claim_attempt_without_link(run, number, content);
  }
  return std::unexpected(io_error("cannot create", target, error));
}

Result<bool> claim_attempt_without_link(const Path& run, int number, std::string_view content) {
  const Path target = attempt_path(run, number);
  const OwnedFd fd(::open(target.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (fd.get() < 0) {
    if (errno == EEXIST) {
      return false;
    }
    return std::unexpected(io_error("cannot create", target, errno));
  }
  KEDGE_TRY(write_file_atomic(target, content));
  return true;
}

void remove_stale_claims(const Path& run, double age_s) {
  std::error_code error;
  std::filesystem::directory_iterator entry(attempts_folder(run), error);
  std::vector<Path> stale;
  const ServerClock clock(run);
  const double now_s = clock.now_s();
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const bool is_claim = entry->path().filename().string().starts_with(kClaimPrefix);
    const auto modified = is_claim ? find_modified_s(entry->path()) : std::nullopt;
    if (modified && now_s - *modified > age_s) {
      stale.push_back(entry->path());
    }
  }
  for (const Path& path : stale) {
    ::unlink(path.c_str());
  }
}

std::optional<double> find_modified_s(const Path& path) {
  // open() makes NFS ask the server; stat() may answer from memory that is a minute old.
  const OwnedFd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat info{};
  if (fd.get() < 0 || ::fstat(fd.get(), &info) != 0) {
    return std::nullopt;
  }
  return to_seconds(info.st_mtim);
}

ServerClock::ServerClock(const Path& run)
    : path_(own_path(run, std::string(kClaimPrefix) + "clock-")),
      fd_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644)) {}

ServerClock::~ServerClock() {
  if (fd_.get() >= 0) {
    ::unlink(path_.c_str());
  }
}

double ServerClock::now_s() const {
  struct stat info{};
  if (fd_.get() >= 0 && ::futimens(fd_.get(), nullptr) == 0 && ::fstat(fd_.get(), &info) == 0) {
    return to_seconds(info.st_mtim);
  }
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace kedge::track
