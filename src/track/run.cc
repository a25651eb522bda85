#include "track/run.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/file.h"
#include "core/result.h"
#include "core/time_text.h"
#include "track/attempt.h"
#include "track/internal/attempt_file.h"
#include "track/internal/recorder.h"
#include "track/internal/run_folder.h"
#include "track/internal/run_parts.h"
#include "track/internal/system_watch.h"

namespace kedge::track {
namespace {

// The last words of a run wait for room. A disk that takes none for so long takes them no more.
constexpr std::chrono::milliseconds kLastWords = std::chrono::minutes(10);

}  // namespace

Run::Run(std::unique_ptr<Impl> impl, Names names)
    : impl_(std::move(impl)), names_(std::move(names)) {}

Run::~Run() = default;

Result<std::unique_ptr<Run>> Run::create(const RunStart& start) {
  auto impl = std::make_unique<Impl>(KEDGE_TRY(create_run_folder(start)));
  impl->log_start(start, {});
  Names names = impl->names();
  return std::unique_ptr<Run>(new Run(std::move(impl), std::move(names)));
}

Result<std::unique_ptr<Run>> Run::resume(const RunStart& start, Attempt attempt,
                                         const ResumePoint& point) {
  auto impl =
      std::make_unique<Impl>(KEDGE_TRY(resume_run_folder(start, std::move(attempt), point)));
  impl->log_start(start, point);
  Names names = impl->names();
  return std::unique_ptr<Run>(new Run(std::move(impl), std::move(names)));
}

std::unique_ptr<Run> Run::make_silent(Names names) {
  return std::unique_ptr<Run>(new Run(nullptr, std::move(names)));
}

const Path& Run::path() const {
  return names_.path;
}

const std::string& Run::id() const {
  return names_.id;
}

int Run::attempt() const {
  return names_.attempt;
}

bool Run::is_lost() const {
  return impl_ != nullptr && impl_->attempt.is_lost();
}

Result<void> Run::sync() {
  if (impl_ == nullptr) {
    return {};
  }
  KEDGE_TRY(impl_->recorder.sync());
  return impl_->attempt.confirm();
}

const std::string& Run::name() const {
  return names_.name;
}

void Run::watch_system(double every_s, std::int64_t process_tree) {
  guard([&] {
    impl_->system_watch.reset();
    impl_->system_watch = std::make_unique<SystemWatch>(impl_->recorder, every_s, process_tree);
  });
}

void Run::finish(RunState state, const nlohmann::json& summary) {
  if (impl_ == nullptr || std::exchange(impl_->is_finished, true)) {
    return;
  }
  guard([&] {
    Recorder& recorder = impl_->recorder;
    Item last{.kind = Item::Kind::Event, .type = "summary"};
    last.body = summary;
    recorder.add_patiently(std::move(last), kLastWords);
    Item end{.kind = Item::Kind::Event, .type = "state"};
    end.body = {{"state", name_of(state)}};
    recorder.add_patiently(std::move(end), kLastWords);
    impl_->system_watch.reset();
    recorder.stop();

    const std::lock_guard lock(impl_->description_mutex);
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
  if (impl_->push != nullptr) {
    impl_->push->finish();
  }
}

}  // namespace kedge::track
