// What a Run is made of; shared by the files that implement it.
#pragma once

#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/file.h"
#include "core/host_name.h"
#include "core/result.h"
#include "track/attempt.h"
#include "track/internal/identity.h"
#include "track/internal/recorder.h"
#include "track/internal/run_folder.h"
#include "track/internal/system_watch.h"
#include "track/names.h"
#include "track/push.h"
#include "track/run.h"

namespace kedge::track {

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

  // A record that is not scalars. `size` is roughly its bytes.
  void add_event(std::string_view type, std::int64_t step, nlohmann::json body, std::size_t size) {
    Item item{.kind = Item::Kind::Event, .type = std::string(type), .step = step};
    item.body = std::move(body);
    item.size = size;
    recorder.add(std::move(item));
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
                  {"host", host_name()},
                  {"changes", std::move(changes)}};
    recorder.add(std::move(first));
    Item config{.kind = Item::Kind::Event, .type = "config", .step = point.step};
    config.body = {{"yaml", start.effective_config_text}, {"hash", start.config_hash}};
    recorder.add(std::move(config));
    if (start.system_every_s > 0) {
      system_watch = std::make_unique<SystemWatch>(recorder, start.system_every_s);
    }
    if (!start.server.empty()) {
      const std::chrono::duration<double> wait(start.server_wait_s);
      push = std::make_unique<Push>(
          path, PushOptions{.server = start.server,
                            .token_file = start.token_file,
                            .wait_at_end = std::chrono::ceil<std::chrono::milliseconds>(wait),
                            .checkpoints = start.checkpoints});
    }
  }

  Names names() const { return {path, id, name, attempt.number()}; }

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
  std::mutex description_mutex;
  nlohmann::json description;
  bool is_finished = false;
  std::mutex media_mutex;
  std::set<std::string> media_names;
  Attempt attempt;  // outlives the recorder: the run is held until all is written
  Recorder recorder;
  std::unique_ptr<SystemWatch> system_watch;  // logs to the recorder
  std::unique_ptr<Push> push;                 // reads what the recorder has written
};

template <typename Work>
void Run::guard(Work&& work) noexcept {
  if (impl_ != nullptr) {
    impl_->guard(std::forward<Work>(work));
  }
}

}  // namespace kedge::track
