#include "track/run.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "core/file.h"
#include "core/random.h"
#include "core/result.h"
#include "track/event_log.h"
#include "track/internal/csv_table.h"
#include "track/internal/names.h"
#include "track/internal/recorder.h"

namespace kedge::track {
namespace {

// The first attempt's only writer; later attempts and other ranks get files of their own.
constexpr std::string_view kWriter = "a1-r0";
constexpr int kRunVersion = 1;

std::string_view name_of(RunState state) {
  constexpr std::array<std::string_view, 4> kNames = {"running", "finished", "failed",
                                                      "interrupted"};
  return kNames[static_cast<std::size_t>(state)];
}

std::string utc_now() {
  return fmt::format("{:%FT%TZ}", fmt::gmtime(std::chrono::system_clock::now()));
}

std::string dump(const nlohmann::json& json) {
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

Random make_random() {
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
  Random random = make_random();
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
    if (errno != EEXIST) {
      return std::unexpected(with_dir_hint(io_error("cannot create folder", run.path, errno)));
    }
    if (!start.id.empty()) {
      return fail(ErrorKind::Usage,
                  fmt::format("run '{}' exists already in {}", run.id, project.string()),
                  "choose another run.id, or leave it out to have one made up");
    }
  }
}

// The patch is text for people and tools: it gets a file of its own.
Result<void> write_environment(const Path& path, nlohmann::json environment) {
  const auto git = environment.is_object() ? environment.find("git") : environment.end();
  if (git != environment.end() && git->is_object() && git->contains("patch")) {
    const nlohmann::json patch = std::move((*git)["patch"]);
    git->erase("patch");
    if (patch.is_string() && !patch.get_ref<const std::string&>().empty()) {
      KEDGE_TRY(write_file_atomic(path / "code.patch", patch.get_ref<const std::string&>()));
      (*git)["patch_file"] = "code.patch";
    }
  }
  return write_file_atomic(path / "environment.json", dump(environment));
}

nlohmann::json describe(const RunStart& start, const Identity& run) {
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
          {"attempt", 1},
          {"created", utc_now()},
          {"state", name_of(RunState::Running)}};
}

Result<RecorderFiles> make_files(const RunStart& start, const Identity& run,
                                 const nlohmann::json& description) {
  const Path& path = run.path;
  for (const char* folder : {"media", "checkpoints"}) {
    KEDGE_TRY(make_dirs(path / folder));
  }
  KEDGE_TRY(write_file_atomic(path / "config.yaml", start.effective_config_text));
  KEDGE_TRY(write_file_atomic(path / "config.user.yaml", start.config_file_text));
  KEDGE_TRY(write_environment(path, start.environment));

  const auto now = std::chrono::system_clock::now().time_since_epoch();
  auto log = KEDGE_TRY(EventLogWriter::create(
      path / fmt::format("events-{}.klog", kWriter),
      {.run = run.id,
       .writer = std::string(kWriter),
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
    csv.emplace(file);
  }
  // Last: a folder with run.json has everything else.
  KEDGE_TRY(write_file_atomic(path / "run.json", dump(description)));
  return RecorderFiles{std::move(log), std::move(console), console_path, std::move(csv)};
}

std::vector<std::pair<std::string, double>> copy(std::span<const Scalar> scalars) {
  std::vector<std::pair<std::string, double>> values;
  for (const Scalar& scalar : scalars) {
    values.emplace_back(scalar.key, scalar.value);
  }
  return values;
}

}  // namespace

class Run::Impl {
 public:
  Impl(Identity identity, nlohmann::json description, RecorderFiles files)
      : identity(std::move(identity)),
        description(std::move(description)),
        recorder(std::move(files)) {}

  // Runs `work`, which may throw for lack of memory, without letting that reach the trainer.
  template <typename Work>
  void guard(Work&& work) noexcept {
    try {
      work();
    } catch (const std::exception& exception) {
      recorder.note_trouble({ErrorKind::Io, exception.what(), ""});
    }
  }

  // Only what this run has saved so far can collide: the folder is its own.
  std::string claim_media_name(std::string_view name) {
    const std::lock_guard lock(media_mutex);
    const std::string plain = make_file_name(name);
    std::string file = plain + ".png";
    for (int i = 2; !media_names.insert(file).second; ++i) {
      file = fmt::format("{}-{}.png", plain, i);
    }
    return file;
  }

  Identity identity;
  nlohmann::json description;
  bool is_finished = false;
  std::mutex media_mutex;
  std::set<std::string> media_names;
  Recorder recorder;
};

Run::Run(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Run::~Run() = default;

Result<std::unique_ptr<Run>> Run::create(const RunStart& start) {
  Identity identity = KEDGE_TRY(claim_folder(start));
  nlohmann::json description = describe(start, identity);
  auto files = make_files(start, identity, description);
  if (!files) {
    std::error_code ignored;
    std::filesystem::remove_all(identity.path, ignored);
    return std::unexpected(with_dir_hint(files.error()));
  }
  auto impl =
      std::make_unique<Impl>(std::move(identity), std::move(description), std::move(*files));
  Item config{.kind = Item::Kind::Event, .type = "config"};
  config.body = {{"yaml", start.effective_config_text}, {"hash", start.config_hash}};
  impl->recorder.add(std::move(config));
  return std::unique_ptr<Run>(new Run(std::move(impl)));
}

const Path& Run::path() const {
  return impl_->identity.path;
}

const std::string& Run::id() const {
  return impl_->identity.id;
}

const std::string& Run::name() const {
  return impl_->identity.name;
}

void Run::log(std::int64_t step, std::span<const Scalar> scalars) {
  impl_->recorder.log(step, scalars);
}

void Run::log_epoch(std::int64_t epoch, std::int64_t step, std::span<const Scalar> scalars) {
  impl_->guard([&] {
    Item item{.kind = Item::Kind::Epoch, .type = "scalars", .step = step};
    item.epoch = epoch;
    item.values = copy(scalars);
    impl_->recorder.add(std::move(item));
  });
}

void Run::log_confusion(std::string_view key, std::int64_t step,
                        const std::vector<std::string>& class_names,
                        const std::vector<std::vector<std::int64_t>>& counts) {
  impl_->guard([&] {
    Item item{.kind = Item::Kind::Event, .type = "confusion", .step = step};
    item.body = {{"key", key}, {"classes", class_names}, {"counts", counts}};
    item.size = counts.size() * counts.size() * sizeof(nlohmann::json);
    impl_->recorder.add(std::move(item));
  });
}

std::optional<std::string> Run::save_image(std::string_view name,
                                           std::span<const std::uint8_t> pixels,
                                           std::int64_t height, std::int64_t width,
                                           std::int64_t channels) {
  std::optional<std::string> saved;
  impl_->guard([&] {
    Item item{.kind = Item::Kind::Image, .type = "image"};
    item.image = {.pixels = {pixels.begin(), pixels.end()},
                  .height = height,
                  .width = width,
                  .channels = channels};
    if (!is_valid(item.image)) {
      impl_->recorder.note_trouble({ErrorKind::Usage,
                                    fmt::format("image '{}' of {} x {} x {} has {} bytes", name,
                                                height, width, channels, pixels.size()),
                                    ""});
      return;
    }
    const std::string file = "media/" + impl_->claim_media_name(name);
    item.file = path() / file;
    item.body = {{"name", name}, {"path", file}};
    item.size = pixels.size();
    impl_->recorder.add(std::move(item));
    saved = file;
  });
  return saved;
}

void Run::log_table(std::string_view key, std::int64_t step,
                    const std::vector<std::string>& columns, const nlohmann::json& rows) {
  impl_->guard([&] {
    Item item{.kind = Item::Kind::Event, .type = "table", .step = step};
    item.body = {{"key", key}, {"columns", columns}, {"rows", rows}};
    item.size = rows.size() * (columns.size() + 1) * sizeof(nlohmann::json);
    impl_->recorder.add(std::move(item));
  });
}

void Run::console(std::string_view line) {
  impl_->guard([&] {
    Item item{.kind = Item::Kind::Console, .type = "console"};
    item.text = line;
    item.size = line.size();
    impl_->recorder.add(std::move(item));
  });
}

void Run::finish(RunState state, const nlohmann::json& summary) {
  if (std::exchange(impl_->is_finished, true)) {
    return;
  }
  impl_->guard([&] {
    Recorder& recorder = impl_->recorder;
    Item last{.kind = Item::Kind::Event, .type = "summary"};
    last.body = summary;
    recorder.add_patiently(std::move(last));
    Item end{.kind = Item::Kind::Event, .type = "state"};
    end.body = {{"state", name_of(state)}};
    recorder.add_patiently(std::move(end));
    recorder.stop();

    nlohmann::json& description = impl_->description;
    description["state"] = name_of(state);
    description["finished"] = utc_now();
    description["summary"] = summary;
    description["dropped"] = recorder.dropped();
    if (recorder.trouble_count() > 0) {
      description["trouble"] = {{"count", recorder.trouble_count()},
                                {"first", recorder.first_trouble()}};
    }
    if (const auto written = write_file_atomic(path() / "run.json", dump(description)); !written) {
      recorder.note_trouble(written.error());
    }
  });
}

}  // namespace kedge::track
