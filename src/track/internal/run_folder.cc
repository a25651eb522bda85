#include "track/internal/run_folder.h"

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "core/file.h"
#include "core/random.h"
#include "core/result.h"
#include "core/time_text.h"
#include "track/event_log.h"
#include "track/internal/attempt_file.h"
#include "track/internal/csv_table.h"
#include "track/names.h"

namespace kedge::track {
namespace {

constexpr int kRunVersion = 1;

std::string dump(const nlohmann::json& json) {
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

Random make_process_random() {
  std::random_device device;
  return Random({device(), device(), static_cast<std::uint64_t>(::getpid())});
}

Error with_dir_hint(Error error) {
  error.hint = "choose another folder for runs with track.dir=PATH" +
               (error.hint.empty() ? std::string() : ", or " + error.hint);
  return error;
}

struct Identity {
  std::string id;
  std::string name;
  Path path;
};

// A folder of that name may be left from a process killed before it had written run.json: it is
// taken over, and the attempt's number says whether that process has really ended.
bool can_take_over(const RunStart& start, const Path& path) {
  std::error_code ignored;
  return !start.id.empty() && std::filesystem::is_directory(path, ignored) &&
         !std::filesystem::exists(path / "run.json", ignored);
}

// Makes the run's own folder; mkdir() tells for certain whether somebody else has it.
Result<Identity> claim_folder(const RunStart& start) {
  KEDGE_TRY(check_folder_name("run.project", start.project));
  if (!start.id.empty()) {
    KEDGE_TRY(check_folder_name("run.id", start.id));
  }
  const Path project = start.dir / start.project;
  if (auto made = make_dirs(project); !made) {
    return std::unexpected(with_dir_hint(made.error()));
  }
  Random random = make_process_random();
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  for (;;) {
    Identity run;
    run.id =
        start.id.empty()
            ? make_run_id(std::chrono::duration_cast<std::chrono::seconds>(now).count(), random)
            : start.id;
    run.name = start.name.empty() ? make_run_name(random) : start.name;
    run.path = project / run.id;
    if (::mkdir(run.path.c_str(), 0755) == 0) {
      return run;
    }
    const int error = errno;
    if (error != EEXIST) {
      return std::unexpected(with_dir_hint(io_error("cannot create folder", run.path, error)));
    }
    if (can_take_over(start, run.path)) {
      return run;
    }
    if (!start.id.empty()) {
      return fail(ErrorKind::Usage,
                  fmt::format("run '{}' exists already in {}", run.id, project.string()),
                  "go on with it (resume=auto), choose another run.id, or leave it out to have one "
                  "made up");
    }
  }
}

// "config.yaml", of attempt 3: "config.a3.yaml".
std::string name_with_attempt(std::string_view stem, int attempt, std::string_view ending) {
  return fmt::format("{}.a{}{}", stem, attempt, ending);
}

// The patch is text for people and tools: it gets a file of its own.
Result<void> write_environment(const Path& path, nlohmann::json environment, int attempt) {
  const bool is_first = attempt == 1;
  const auto git = environment.is_object() ? environment.find("git") : environment.end();
  if (git != environment.end() && git->is_object() && git->contains("patch")) {
    const nlohmann::json patch = std::move((*git)["patch"]);
    git->erase("patch");
    if (patch.is_string() && !patch.get_ref<const std::string&>().empty()) {
      const std::string file =
          is_first ? "code.patch" : name_with_attempt("code", attempt, ".patch");
      KEDGE_TRY(write_file_atomic(path / file, patch.get_ref<const std::string&>()));
      (*git)["patch_file"] = file;
    }
  }
  const std::string file =
      is_first ? "environment.json" : name_with_attempt("environment", attempt, ".json");
  return write_file_atomic(path / file, dump(environment));
}

nlohmann::json describe(const RunStart& start, const Identity& run, int attempt) {
  return {{"format", "kedge-run"},
          {"version", kRunVersion},
          {"id", run.id},
          {"name", run.name},
          {"project", start.project},
          {"tags", start.tags},
          {"notes", start.notes},
          {"group", start.group},
          {"job_type", start.job_type},
          {"config_hash", start.config_hash},
          {"data_digest", start.data_digest},
          {"attempt", attempt},
          {"created", utc_now()},
          {"state", name_of(RunState::Running)}};
}

// The attempt's own event log, and the files all attempts share. Rows of the CSV beyond
// `last_epoch` are cut.
Result<RecorderFiles> open_files(const RunStart& start, const Path& path, std::string_view id,
                                 int attempt, std::optional<std::int64_t> last_epoch) {
  const std::string writer = fmt::format("a{}-r0", attempt);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  auto log = KEDGE_TRY(EventLogWriter::create(
      path / fmt::format("events-{}.klog", writer),
      {.run = std::string(id),
       .writer = writer,
       .created_us = std::chrono::duration_cast<std::chrono::microseconds>(now).count()}));
  const Path console_path = path / "console.log";
  OwnedFd console(::open(console_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (console.get() < 0) {
    return std::unexpected(io_error("cannot create", console_path, errno));
  }
  std::optional<CsvTable> csv;
  if (!start.csv.empty()) {
    const Path file = path / start.csv;
    KEDGE_TRY(make_dirs(file.parent_path()));
    csv.emplace(last_epoch ? KEDGE_TRY(CsvTable::resume(file, *last_epoch)) : CsvTable(file));
  }
  KEDGE_TRY(sync_dir(path));
  return RecorderFiles{std::move(log), std::move(console), console_path, std::move(csv)};
}

Result<RecorderFiles> make_files(const RunStart& start, const Identity& run, Attempt& attempt,
                                 const nlohmann::json& description) {
  const Path& path = run.path;
  for (const char* folder : {"media", "checkpoints"}) {
    KEDGE_TRY(make_dirs(path / folder));
  }
  KEDGE_TRY(attempt.set_facts(0, {}));
  KEDGE_TRY(write_file_atomic(path / "config.yaml", start.effective_config_text));
  KEDGE_TRY(write_file_atomic(path / "config.user.yaml", start.config_file_text));
  if (!start.sample_text.empty()) {
    KEDGE_TRY(write_file_atomic(path / "sample.txt", start.sample_text));
  }
  KEDGE_TRY(write_environment(path, start.environment, 1));
  auto files = KEDGE_TRY(open_files(start, path, run.id, attempt.number(), std::nullopt));
  // Last: a folder with run.json has everything else.
  KEDGE_TRY(write_description(path, description));
  return files;
}

Result<nlohmann::json> read_description(const Path& run) {
  const std::string text = KEDGE_TRY(read_file(run / "run.json"));
  auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("id") || !json["id"].is_string() ||
      !json.contains("name") || !json["name"].is_string()) {
    return fail(ErrorKind::Corrupt,
                fmt::format("{} does not describe a run", (run / "run.json").string()),
                "restore the file, or start a new run with another run.id");
  }
  return Result<nlohmann::json>(std::in_place, std::move(json));
}

// A changed file keeps its old content under the name of the last attempt that used it.
Result<void> replace_config(const Path& run, std::string_view stem, std::string_view text,
                            int last_attempt) {
  const Path path = run / fmt::format("{}.yaml", stem);
  const auto old = read_file(path);
  if (old && *old == text) {
    return {};
  }
  if (old) {
    KEDGE_TRY(write_file_atomic(run / name_with_attempt(stem, last_attempt, ".yaml"), *old));
  }
  return write_file_atomic(path, text);
}

void update_description(nlohmann::json& description, const RunStart& start, int attempt) {
  for (const char* key : {"finished", "summary", "last_step", "dropped", "trouble"}) {
    description.erase(key);
  }
  const std::pair<const char*, const std::string*> texts[] = {{"name", &start.name},
                                                              {"notes", &start.notes},
                                                              {"group", &start.group},
                                                              {"job_type", &start.job_type},
                                                              {"config_hash", &start.config_hash},
                                                              {"data_digest", &start.data_digest}};
  for (const auto& [key, text] : texts) {
    if (!text->empty()) {
      description[key] = *text;
    }
  }
  if (!start.tags.empty()) {
    description["tags"] = start.tags;
  }
  description["attempt"] = attempt;
  description["resumed"] = utc_now();
  description["state"] = name_of(RunState::Running);
}

std::set<std::string> list_media(const Path& run) {
  std::set<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator entry(run / "media", error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    names.insert(entry->path().filename().string());
  }
  return names;
}

Result<RecorderFiles> reopen_files(const RunStart& start, Attempt& attempt,
                                   const ResumePoint& point, nlohmann::json& description) {
  const Path& path = attempt.run();
  const auto last = description.find("attempt");
  const int last_attempt =
      last != description.end() && last->is_number_integer() ? last->get<int>() : 1;
  for (const char* folder : {"media", "checkpoints"}) {
    KEDGE_TRY(make_dirs(path / folder));
  }
  KEDGE_TRY(attempt.set_facts(point.step, point.changes));
  KEDGE_TRY(replace_config(path, "config", start.effective_config_text, last_attempt));
  KEDGE_TRY(replace_config(path, "config.user", start.config_file_text, last_attempt));
  KEDGE_TRY(write_environment(path, start.environment, attempt.number()));
  auto files = KEDGE_TRY(open_files(start, path, description["id"].get_ref<std::string&>(),
                                    attempt.number(), point.epoch));
  files.first_step = point.step;
  update_description(description, start, attempt.number());
  KEDGE_TRY(attempt.confirm());
  KEDGE_TRY(write_description(path, description));
  return files;
}

}  // namespace

Result<void> write_description(const Path& run, const nlohmann::json& description) {
  return write_file_atomic(run / "run.json", dump(description));
}

Result<OpenRun> create_run_folder(const RunStart& start) {
  Identity run = KEDGE_TRY(claim_folder(start));
  auto attempt = Attempt::take(run.path);
  if (!attempt) {
    return std::unexpected(attempt.error());
  }
  nlohmann::json description = describe(start, run, attempt->number());
  auto files = make_files(start, run, *attempt, description);
  if (!files) {
    std::error_code ignored;
    std::filesystem::remove_all(run.path, ignored);
    return std::unexpected(with_dir_hint(files.error()));
  }
  return OpenRun{std::move(run.id),      std::move(run.name), std::move(run.path),
                 std::move(description), std::move(*attempt), std::move(*files)};
}

Result<OpenRun> resume_run_folder(const RunStart& start, Attempt attempt,
                                  const ResumePoint& point) {
  const Path path = attempt.run();
  auto description = read_description(path);
  auto files = description ? reopen_files(start, attempt, point, *description)
                           : Result<RecorderFiles>(std::unexpected(description.error()));
  if (!files) {
    static_cast<void>(attempt.end(RunState::Failed));
    return std::unexpected(files.error());
  }
  std::string id = (*description)["id"];
  std::string name = (*description)["name"];
  return OpenRun{std::move(id),           std::move(name),    path,
                 std::move(*description), std::move(attempt), std::move(*files),
                 list_media(path)};
}

}  // namespace kedge::track
