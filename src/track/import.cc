#include "track/import.h"

#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/time_text.h"
#include "track/internal/attempt_file.h"
#include "track/internal/cbor.h"
#include "track/internal/record_head.h"
#include "track/internal/run_folder.h"

namespace kedge::track {

struct RunImport::State {
  OpenRun run;
  std::uint64_t sequence = 0;
  std::int64_t last_step = 0;
  std::int64_t last_time_us = 0;
  std::size_t media_count = 0;
  std::string payload = {};

  void begin(std::string_view type, std::int64_t step, std::int64_t time_us) {
    payload.clear();
    append_record_head(payload,
                       {.type = type, .sequence = sequence, .time_us = time_us, .step = step});
    last_step = std::max(last_step, step);
    last_time_us = std::max(last_time_us, time_us);
  }

  Result<void> end() {
    constexpr std::uint64_t kFlushBytes = 1U << 20U;
    if (!run.files.log.append(payload)) {
      return fail(ErrorKind::Usage,
                  fmt::format("a record of {} bytes is too large for the log", payload.size()));
    }
    ++sequence;
    return run.files.log.waiting_bytes() > kFlushBytes ? run.files.log.flush() : Result<void>();
  }
};

RunImport::RunImport(std::unique_ptr<State> state) : state_(std::move(state)) {}

RunImport::RunImport(RunImport&&) noexcept = default;
RunImport& RunImport::operator=(RunImport&&) noexcept = default;
RunImport::~RunImport() = default;

const Path& RunImport::path() const {
  return state_->run.path;
}

Result<RunImport> RunImport::create(const RunStart& start) {
  RunImport made(std::make_unique<State>(KEDGE_TRY(create_run_folder(start))));
  KEDGE_TRY(made.add_record("attempt", 0, 0,
                            {{"attempt", made.state_->run.attempt.number()},
                             {"from_step", 0},
                             {"host", ""},
                             {"changes", nlohmann::json::array()}}));
  return made;
}

Result<void> RunImport::add_scalars(std::int64_t step, std::int64_t time_us,
                                    std::span<const Scalar> scalars) {
  state_->begin("scalars", step, time_us);
  append_cbor_map(state_->payload, scalars.size());
  for (const Scalar& scalar : scalars) {
    append_cbor_text(state_->payload, scalar.key);
    append_cbor_double(state_->payload, scalar.value);
  }
  return state_->end();
}

Result<void> RunImport::add_record(std::string_view type, std::int64_t step, std::int64_t time_us,
                                   const nlohmann::json& body) {
  state_->begin(type, step, time_us);
  const std::vector<std::uint8_t> bytes = nlohmann::json::to_cbor(body);
  state_->payload.append(bytes.begin(), bytes.end());
  return state_->end();
}

Result<std::string> RunImport::add_media(std::string_view name, std::string_view bytes) {
  std::string safe(name);
  std::ranges::replace_if(
      safe, [](unsigned char c) { return std::isalnum(c) == 0 && c != '-' && c != '_'; }, '-');
  const std::string path =
      fmt::format("media/{}-{}.png", safe.substr(0, 100), ++state_->media_count);
  KEDGE_TRY(make_dirs(state_->run.path / "media"));
  KEDGE_TRY(write_file_atomic(state_->run.path / path, bytes));
  return path;
}

Result<void> RunImport::finish() {
  State& state = *state_;
  KEDGE_TRY(add_record("state", state.last_step, state.last_time_us,
                       {{"state", name_of(RunState::Finished)}}));
  KEDGE_TRY(state.run.files.log.sync());
  nlohmann::json& description = state.run.description;
  description["state"] = name_of(RunState::Finished);
  description["finished"] = utc_now();
  description["summary"] = nlohmann::json::object();
  description["last_step"] = state.last_step;
  KEDGE_TRY(write_description(state.run.path, description));
  return state.run.attempt.end(RunState::Finished);
}

}  // namespace kedge::track
