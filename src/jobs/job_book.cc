#include "jobs/job_book.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <ranges>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/host_name.h"
#include "core/log.h"
#include "core/random_text.h"

namespace kedge::jobs {
namespace {

constexpr std::int64_t kVersion = 1;
constexpr auto kSubmitNames = std::to_array<std::string_view>({"prepared", "submitted", "refused"});

nlohmann::json submission_json(const Submission& submission) {
  return {{"number", submission.number},         {"state", name_of(submission.state)},
          {"tasks", submission.tasks},           {"id", submission.id},
          {"prepared_s", submission.prepared_s}, {"message", submission.message},
          {"output", submission.output},         {"offset", submission.offset},
          {"part_of", submission.part_of}};
}

Submission submission_from(const nlohmann::json& json) {
  Submission submission;
  json.at("number").get_to(submission.number);
  const auto name = json.at("state").get<std::string>();
  const auto found = std::ranges::find(kSubmitNames, name);
  submission.state = found == kSubmitNames.end()
                         ? SubmitState::Prepared
                         : static_cast<SubmitState>(found - kSubmitNames.begin());
  json.at("tasks").get_to(submission.tasks);
  json.at("id").get_to(submission.id);
  json.at("prepared_s").get_to(submission.prepared_s);
  json.at("message").get_to(submission.message);
  json.at("output").get_to(submission.output);
  submission.offset = json.value("offset", std::int64_t{0});
  submission.part_of = json.value("part_of", std::int64_t{0});
  return submission;
}

std::int64_t age_of(const JobRecord& record) {
  return record.submissions.empty() ? 0 : record.submissions.front().prepared_s;
}

bool has_id(const JobRecord& record, const std::string& id) {
  return std::ranges::any_of(record.submissions,
                             [&](const Submission& s) { return !id.empty() && s.id == id; });
}

}  // namespace

std::string_view name_of(SubmitState state) {
  return kSubmitNames[static_cast<std::size_t>(state)];
}

std::string JobRecord::mark(std::int64_t submission) const {
  return fmt::format("kedge:{}/{}", key, submission);
}

const Submission* JobRecord::responsible(std::int64_t task) const {
  for (const Submission& submission : submissions | std::views::reverse) {
    const bool has_task = submission.tasks.empty() ||
                          std::ranges::find(submission.tasks, task) != submission.tasks.end();
    if (has_task && submission.state != SubmitState::Refused) {
      return &submission;
    }
  }
  return nullptr;
}

nlohmann::json to_json(const JobRecord& record) {
  nlohmann::json submissions = nlohmann::json::array();
  for (const Submission& submission : record.submissions) {
    submissions.push_back(submission_json(submission));
  }
  nlohmann::json ended = nlohmann::json::array();
  for (const TaskStatus& status : record.ended) {
    ended.push_back(to_json(status));
  }
  return {{"version", kVersion},
          {"key", record.key},
          {"launcher", record.launcher},
          {"host", record.host},
          {"spec", to_json(record.spec)},
          {"submissions", submissions},
          {"is_cancelled", record.is_cancelled},
          {"ended", ended}};
}

Result<JobRecord> record_from_json(const nlohmann::json& json, const Path& folder) {
  try {
    if (json.at("version").get<std::int64_t>() > kVersion) {
      return fail(ErrorKind::Corrupt, "written by a newer kedge");
    }
    JobRecord record;
    json.at("key").get_to(record.key);
    json.at("launcher").get_to(record.launcher);
    json.at("host").get_to(record.host);
    record.spec = KEDGE_TRY(spec_from_json(json.at("spec")));
    const nlohmann::json& submissions = json.at("submissions");
    for (const auto& entry : submissions) {
      record.submissions.push_back(submission_from(entry));
    }
    json.at("is_cancelled").get_to(record.is_cancelled);
    const nlohmann::json& ended = json.at("ended");
    for (const auto& entry : ended) {
      record.ended.push_back(status_from_json(entry));
    }
    record.folder = folder;
    return record;
  } catch (const nlohmann::json::exception& error) {
    return fail(ErrorKind::Corrupt, error.what());
  }
}

JobBook::JobBook(Path dir) : dir_(std::filesystem::absolute(std::move(dir)).lexically_normal()) {}

Result<JobRecord> JobBook::add(const JobSpec& spec, std::string_view launcher) const {
  KEDGE_TRY(make_dirs(dir_));
  for (;;) {
    JobRecord record{.key = make_random_word(6),
                     .launcher = std::string(launcher),
                     .spec = spec,
                     .host = host_name()};
    record.folder = dir_ / record.key;
    // Others on the machine have no business with what the job prints.
    if (::mkdir(record.folder.c_str(), 0700) != 0) {
      if (errno == EEXIST) {
        continue;
      }
      return std::unexpected(io_error("cannot make", record.folder, errno));
    }
    if (auto written = write(record); !written) {
      std::error_code ignored;
      std::filesystem::remove_all(record.folder, ignored);
      return std::unexpected(written.error());
    }
    return record;
  }
}

Result<void> JobBook::write(const JobRecord& record) const {
  return write_file_atomic(record.folder / "job.json", to_json(record).dump(1) + "\n");
}

Result<JobRecord> JobBook::read(const std::string& key) const {
  const Path folder = dir_ / key;
  const std::string text = KEDGE_TRY(read_file(folder / "job.json"));
  const auto json = nlohmann::json::parse(text, nullptr, false);
  auto record = record_from_json(json, folder);
  if (!record) {
    return fail(ErrorKind::Corrupt,
                fmt::format("{}: {}", (folder / "job.json").string(), record.error().message));
  }
  return record;
}

std::vector<JobRecord> JobBook::read_all() const {
  std::vector<JobRecord> records;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(dir_, error)) {
    const std::string key = entry.path().filename().string();
    std::error_code ignored;
    if (!std::filesystem::exists(entry.path() / "job.json", ignored)) {
      continue;
    }
    if (auto record = read(key)) {
      records.push_back(std::move(*record));
    } else {
      warn("{}", record.error().message);
    }
  }
  std::ranges::sort(records, [](const JobRecord& a, const JobRecord& b) {
    return std::pair(age_of(a), a.key) > std::pair(age_of(b), b.key);
  });
  return records;
}

Result<JobRecord> JobBook::find(const std::string& word) const {
  std::error_code ignored;
  if (word.find('/') == std::string::npos &&
      std::filesystem::exists(dir_ / word / "job.json", ignored)) {
    return read(word);
  }
  const std::vector<JobRecord> records = read_all();
  std::vector<const JobRecord*> begins;
  for (const JobRecord& record : records) {
    if (has_id(record, word) || record.spec.name == word) {
      return record;
    }
    if (!word.empty() && record.key.starts_with(word)) {
      begins.push_back(&record);
    }
  }
  if (begins.size() == 1) {
    return *begins.front();
  }
  return fail(ErrorKind::NotFound,
              begins.empty() ? fmt::format("no job '{}' in {}", word, dir_.string())
                             : fmt::format("{} jobs begin with '{}'", begins.size(), word),
              "`kedge jobs` lists them");
}

Result<void> JobBook::mark_cancelled(JobRecord& record) const {
  KEDGE_TRY(write_file_atomic(record.folder / "cancelled", ""));
  record.is_cancelled = true;
  return write(record);
}

Result<std::optional<SubmitLock>> SubmitLock::take(const Path& folder) {
  const Path path = folder / "submit.lock";
  // Without O_CLOEXEC: the scheduler's program that the submitter started holds it too, and may
  // hand the job over after the submitter was killed.
  OwnedFd fd(::open(path.c_str(), O_RDWR | O_CREAT, 0600));
  if (fd.get() < 0) {
    return std::unexpected(io_error("cannot open", path, errno));
  }
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) {
      return std::nullopt;
    }
    return std::unexpected(io_error("cannot lock", path, errno));
  }
  return SubmitLock(std::move(fd));
}

}  // namespace kedge::jobs
