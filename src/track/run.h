// A Run is one run directory being written: run.json, config, events log, CSV, media. Nothing
// here may make training wait or fail: after creation, trouble is counted and reported once.
// docs/formats/run-directory.md is the layout. Only this room writes run directories.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/file.h"
#include "core/result.h"
#include "track/attempt.h"
#include "track/checkpoint_upload.h"

namespace kedge::track {

// What is known before the first step; kept in run.json.
struct RunStart {
  Path dir = "runs";
  std::string project = "default";
  std::string name;  // made up when empty
  std::string id;    // made up when empty
  std::vector<std::string> tags;
  std::string notes;
  std::string group;
  std::string job_type;
  std::string config_file_text;       // the user's file, verbatim -> config.user.yaml
  std::string effective_config_text;  // every value -> config.yaml
  std::string config_hash;
  std::string data_digest;
  std::string sample_text;     // one sample as text -> sample.txt; empty: no such file
  nlohmann::json environment;  // collect_environment()
  std::string csv;             // metrics CSV: name in the run folder, or absolute; empty: none
  double system_every_s = 0;   // seconds between records of how busy the machine is; 0: none
  std::string server;          // also send the run to this tracking server; empty: do not
  Path token_file;             // for that server; empty: $KEDGE_TOKEN, or none
  double server_wait_s = 10;   // at the end, for what is not sent yet
  WhichCheckpoints checkpoints = WhichCheckpoints::None;  // to send to that server
};

// Where a resumed run goes on.
struct ResumePoint {
  std::int64_t step = 0;   // the last step that counts; what was logged for later ones is replaced
  std::int64_t epoch = 0;  // the last whole epoch that counts: the last row the CSV keeps
  std::vector<ConfigChange> changes = {};  // of the config since the attempt before
};

struct Scalar {
  std::string_view key;
  double value = 0;
};

enum class AlertLevel : std::uint8_t { Info, Warning, Error };

// A file that belongs to a run but does not lie in its folder, or is too large to be copied.
struct ArtifactReference {
  std::string name;
  std::string type;        // "checkpoint", "dataset", "model", ...
  std::string location;    // a path inside the run folder, an absolute path, or a URI
  std::string digest;      // "sha256:..." or "xxh3:..."; empty: unknown
  std::uint64_t size = 0;  // bytes
};

class Run {
 public:
  // Makes the folder and holds it as its first attempt, or says why it cannot.
  static Result<std::unique_ptr<Run>> create(const RunStart& start);

  // Goes on with the run that `attempt` holds. The folder and the id are the attempt's; name, tags,
  // notes, group and job type change only where `start` gives them.
  static Result<std::unique_ptr<Run>> resume(const RunStart& start, Attempt attempt,
                                             const ResumePoint& point);

  // For a process that takes part in a run which another one writes: it knows the run's names and
  // swallows all it is told.
  struct Names {
    Path path;
    std::string id;
    std::string name;
    int attempt = 0;
  };

  static std::unique_ptr<Run> make_silent(Names names);

  bool is_silent() const { return impl_ == nullptr; }

  ~Run();

  const Path& path() const;
  const std::string& id() const;
  const std::string& name() const;
  int attempt() const;

  // Another process has taken the run: stop at the next step. Cheap, for every step.
  bool is_lost() const;

  // Returns when everything logged before is on the disk, or with what went wrong; Unavailable
  // when the run was taken by somebody else. Waits for the disk: not for the training loop.
  Result<void> sync();

  // Values at a step. Cheap, never blocks, never throws.
  void log(std::int64_t step, std::span<const Scalar> scalars);

  // Also a row of the CSV: the metrics of an epoch.
  void log_epoch(std::int64_t epoch, std::int64_t step, std::span<const Scalar> scalars);

  // counts[i][j]: samples of class i predicted as j.
  void log_confusion(std::string_view key, std::int64_t step,
                     const std::vector<std::string>& class_names,
                     const std::vector<std::vector<std::int64_t>>& counts);

  // An 8-bit HWC image becomes media/<file>.png; cells that refer to it hold {"image": path}.
  std::optional<std::string> save_image(std::string_view name, std::span<const std::uint8_t> pixels,
                                        std::int64_t height, std::int64_t width,
                                        std::int64_t channels);
  void log_table(std::string_view key, std::int64_t step, const std::vector<std::string>& columns,
                 const nlohmann::json& rows);

  // counts[i] values lie between edges[i] and edges[i + 1].
  void log_histogram(std::string_view key, std::int64_t step, std::span<const double> edges,
                     std::span<const std::int64_t> counts);
  void log_text(std::string_view key, std::int64_t step, std::string_view text);
  void log_html(std::string_view key, std::int64_t step, std::string_view html);
  void log_artifact(const ArtifactReference& artifact, std::int64_t step);

  // Something people should hear of.
  void alert(std::string_view title, std::string_view text, AlertLevel level);

  // Replaces the run's tags; run.json has them at the end.
  void set_tags(const std::vector<std::string>& tags);

  // How busy the machine is. Not a curve over steps: a record type of its own.
  void log_system(std::span<const Scalar> values);

  // Logs how busy the machine is, every so many seconds from now on; "the process" is this one and
  // all it has started. For a program that runs beside us; ours has RunStart::system_every_s.
  void watch_system(double every_s, std::int64_t process_tree);

  // A line for console.log and the event log. Where there is no room it is dropped and counted; a
  // caller with patience waits at most so long before. False when it was dropped.
  bool console(std::string_view line,
               std::chrono::milliseconds patience = std::chrono::milliseconds(0));

  // The last word: state, summary values, then everything is flushed and synced.
  void finish(RunState state, const nlohmann::json& summary);

 private:
  class Impl;
  Run(std::unique_ptr<Impl> impl, Names names);

  template <typename Work>
  void guard(Work&& work) noexcept;

  std::unique_ptr<Impl> impl_;  // null: silent
  Names names_;
};

// Host, user, OS, CPU, memory, command line, working folder, git revision with uncommitted changes
// (as a patch), kedge version, scheduler job; the caller adds what it knows of GPUs and libraries.
nlohmann::json collect_environment(int argc, const char* const* argv);

}  // namespace kedge::track
