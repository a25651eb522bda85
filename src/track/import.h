// A run made of what another tool logged: its records keep the steps and times they had there.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "core/file.h"
#include "core/result.h"
#include "track/run.h"

namespace kedge::track {

class RunImport {
 public:
  // Makes the folder, as Run::create() does.
  static Result<RunImport> create(const RunStart& start);
  RunImport(RunImport&&) noexcept;
  RunImport& operator=(RunImport&&) noexcept;
  ~RunImport();

  const Path& path() const;

  Result<void> add_scalars(std::int64_t step, std::int64_t time_us,
                           std::span<const Scalar> scalars);
  // Types and bodies are those of docs/formats/klog.md.
  Result<void> add_record(std::string_view type, std::int64_t step, std::int64_t time_us,
                          const nlohmann::json& body);
  // A file for records to refer to; returns its path in the run folder.
  Result<std::string> add_media(std::string_view name, std::string_view bytes);

  // The last word, synced. Without it the run is one that was killed.
  Result<void> finish();

 private:
  struct State;
  explicit RunImport(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace kedge::track
