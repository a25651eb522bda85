#include "track/run.h"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/file.h"
#include "core/result.h"
#include "track/attempt.h"
#include "track/internal/attempt_file.h"
#include "track/internal/identity.h"
#include "track/internal/names.h"
#include "track/internal/recorder.h"
#include "track/internal/run_folder.h"

namespace kedge::track {
namespace {

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
  explicit Impl(OpenRun open)
      : id(std::move(open.id)),
        name(std::move(open.name)),
        path(std::move(open.path)),
        description(std::move(open.description)),
        media_names(std::move(open.media_names)),
        attempt(std::move(open.attempt)),
        recorder(std::move(open.files)) {}

  // Runs `work`, which may throw for lack of memory, without letting that reach the trainer.
  template <typename Work>
  void guard(Work&& work) noexcept {
    try {
      work();
    } catch (const std::exception& exception) {
      recorder.note_trouble({ErrorKind::Io, exception.what(), ""});
    }
  }

  void note_trouble_of(const Result<void>& result) noexcept {
    if (!result) {
      recorder.note_trouble(result.error());
    }
  }

  // The first records of an event log: which attempt it is, and its config.
  void log_start(const RunStart& start, const ResumePoint& point) {
    Item first{.kind = Item::Kind::Event, .type = "attempt", .step = point.step};
    nlohmann::json changes = nlohmann::json::array();
    for (const ConfigChange& change : point.changes) {
      changes.push_back({{"key", change.key}, {"before", change.before}, {"after", change.after}});
    }
    first.body = {{"attempt", attempt.number()},
                  {"from_step", point.step},
                  {"host", find_host_name()},
                  {"changes", std::move(changes)}};
    recorder.add(std::move(first));
    Item config{.kind = Item::Kind::Event, .type = "config", .step = point.step};
    config.body = {{"yaml", start.effective_config_text}, {"hash", start.config_hash}};
    recorder.add(std::move(config));
  }

  // Files of earlier attempts are never replaced: tables they logged refer to them.
  std::string claim_media_name(std::string_view wanted) {
    const std::lock_guard lock(media_mutex);
    const std::string plain = make_file_name(wanted);
    std::string file = plain + ".png";
    for (int i = 2; !media_names.insert(file).second; ++i) {
      file = fmt::format("{}-{}.png", plain, i);
    }
    return file;
  }

  std::string id;
  std::string name;
  Path path;
  nlohmann::json description;
  bool is_finished = false;
  std::mutex media_mutex;
  std::set<std::string> media_names;
  Attempt attempt;  // outlives the recorder: the run is held until all is written
  Recorder recorder;
};

Run::Run(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Run::~Run() = default;

Result<std::unique_ptr<Run>> Run::create(const RunStart& start) {
  auto impl = std::make_unique<Impl>(KEDGE_TRY(create_run_folder(start)));
  impl->log_start(start, {});
  return std::unique_ptr<Run>(new Run(std::move(impl)));
}

Result<std::unique_ptr<Run>> Run::resume(const RunStart& start, Attempt attempt,
                                         const ResumePoint& point) {
  auto impl =
      std::make_unique<Impl>(KEDGE_TRY(resume_run_folder(start, std::move(attempt), point)));
  impl->log_start(start, point);
  return std::unique_ptr<Run>(new Run(std::move(impl)));
}

const Path& Run::path() const {
  return impl_->path;
}

const std::string& Run::id() const {
  return impl_->id;
}

int Run::attempt() const {
  return impl_->attempt.number();
}

bool Run::is_lost() const {
  return impl_->attempt.is_lost();
}

Result<void> Run::sync() {
  KEDGE_TRY(impl_->recorder.sync());
  return impl_->attempt.confirm();
}

const std::string& Run::name() const {
  return impl_->name;
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
    description["last_step"] = recorder.last_step();
    description["dropped"] = recorder.dropped();
    if (recorder.trouble_count() > 0) {
      description["trouble"] = {{"count", recorder.trouble_count()},
                                {"first", recorder.first_trouble()}};
    }
    // A lost run is described by the attempt that took it.
    if (impl_->attempt.confirm().has_value() || !impl_->attempt.is_lost()) {
      impl_->note_trouble_of(write_description(path(), description));
    }
    impl_->note_trouble_of(impl_->attempt.end(state));
  });
}

}  // namespace kedge::track
