// The tracking store: everything the server knows about runs, in one database that one process
// owns. It knows nothing of HTTP, users' rights or run folders. All functions may be called from
// any thread. A change returns when it is committed; changes of many callers share one commit.
// Time comes in as an argument. docs/formats/store.md is the layout in the database.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/result.h"
#include "store/run.h"
#include "store/series.h"
#include "track/history.h"

namespace kedge::store {

// What has changed in a run; Change::what is a sum of these.
inline constexpr unsigned kChangedFacts = 1;
inline constexpr unsigned kChangedMetrics = 2;
inline constexpr unsigned kChangedConsole = 4;
inline constexpr unsigned kChangedRecords = 8;
inline constexpr unsigned kChangedFiles = 16;
inline constexpr unsigned kRunDeleted = 32;

struct Change {
  RunKey run;
  unsigned what = 0;
  std::optional<std::int64_t> last_step = {};
};

struct View {
  std::string id;
  std::string name;
  std::string project;
  nlohmann::json view;
};

struct AuditLine {
  std::int64_t time_us = 0;
  std::string who;
  std::string what;    // "run.delete"
  std::string target;  // "mnist/20261115-042133-k3f9q2"
  nlohmann::json detail = nlohmann::json::object();
};

struct Alert {
  RunKey run;
  Record record;
};

// A name that runs of a project have: a config key, a metric, a tag, a label.
struct FieldFacts {
  std::string name;
  std::size_t run_count = 0;           // that have it
  std::size_t value_count = 0;         // different ones; of config keys only
  std::vector<nlohmann::json> values;  // of config keys with a few short ones: all of them
};

// The most frequent names first, equally frequent ones by name.
struct ProjectFields {
  std::size_t run_count = 0;
  std::vector<FieldFacts> config;
  std::vector<FieldFacts> metrics;  // also what was set by hand in a summary
  std::vector<FieldFacts> tags;
  std::vector<FieldFacts> labels;
};

struct SearchText {
  std::string runs;  // a JSON list of what render_run() makes
  std::size_t total = 0;
  std::vector<std::string> warnings;
};

// store/groups.h
struct GroupRequest;
struct GroupAnswer;
struct GroupCurvesRequest;
struct GroupCurves;

struct StoreOptions {
  // Changes that wait for the disk; more are refused as Unavailable until there is room.
  std::size_t max_waiting_bytes = std::size_t{256} << 20U;
};

struct CreateAnswer {
  Run run;
  bool is_created = false;  // false: it was there, and is as it was
};

// An address of Store::open() as people may see it: without the password.
std::string render_address(const std::string& address);

// Usage, naming those there are: the address's scheme is none of a database's.
Result<void> check_address(const std::string& address);

template <typename T>
using Done = std::function<void(Result<T>)>;  // called once, on the writer's thread: be quick

class Store {
 public:
  class Impl;  // store/internal/store_parts.h

  // `address` is a folder or postgres://... ; Unavailable, naming the holder, when another process
  // owns it, and with a hint when the folder lies on a network file system.
  static Result<std::unique_ptr<Store>> open(const std::string& address, std::int64_t now_us,
                                             const StoreOptions& options = {});

  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  ~Store();  // commits what was accepted

  // Called after each commit, on the thread that made it: be quick, and do not call the store.
  void set_listener(std::function<void(std::span<const Change>)> listener);

  // While what it returns lives, small changes that this thread begins without waiting for them are
  // put off until its end, and then most likely committed on this thread, together.
  std::shared_ptr<void> begin_turn();

  // --- runs
  // All, in order of their numbers, those in the trash and without runs too.
  std::vector<Project> list_projects() const;
  std::optional<Project> find_project(const std::string& name) const;  // counts are left out
  std::optional<Project> find_project(std::int64_t id) const;
  // Usage when there is one of that name, in the trash too.
  Result<Project> create_project(const ProjectDraft& draft, std::int64_t now_us);
  Result<Project> patch_project(std::int64_t id, const ProjectPatch& patch, std::int64_t now_us);

  Result<SearchAnswer> search(const Search& search, std::int64_t now_us) const;
  // The same as text: many times faster where runs are many.
  Result<SearchText> search_text(const Search& search, std::int64_t now_us) const;
  ProjectFields list_fields(const std::string& project) const;  // from memory
  // search() without reading from the database: calls `visit` for each that search() would return.
  // Returns how many match, on all pages.
  Result<std::size_t> scan(const Search& search, std::int64_t now_us,
                           const std::function<void(const FoundRun&)>& visit) const;
  // Runs that share values of some fields, from memory. Usage for names that cannot be read.
  Result<GroupAnswer> group_runs(const GroupRequest& request, std::int64_t now_us) const;
  Result<Run> find_run(const RunKey& key) const;  // NotFound
  // One run as scan() shows it: from memory. NotFound.
  Result<void> visit_run(const RunKey& key,
                         const std::function<void(const FoundRun&)>& visit) const;
  std::optional<RunFacts> find_facts(const RunKey& key) const;  // from memory
  Result<nlohmann::json> find_environment(const RunKey& key) const;
  std::vector<RunKey> find_runs(const std::string& id) const;  // in any project, the oldest first
  // An empty id: made up. An id has letters, digits, '.', '-', '_', at most 128; a project's name
  // is any text of at most 500 characters.
  Result<CreateAnswer> create_run(const RunKey& key, const RunPatch& patch, std::int64_t now_us);
  Result<Run> patch_run(const RunKey& key, const RunPatch& patch, std::int64_t now_us);
  Result<Run> put_run(const RunKey& key, const RunPatch& patch, std::int64_t now_us);  // either
  // Reads and changes in one go: nobody comes between. An error of `edit` changes nothing. It may
  // be called again when a commit is tried again.
  Result<Run> edit_run(const RunKey& key, const std::function<Result<RunPatch>(const Run&)>& edit,
                       std::int64_t now_us);
  void edit_run(const RunKey& key, std::function<Result<RunPatch>(const Run&)> edit,
                std::int64_t now_us, Done<void> done);
  Result<void> delete_run(const RunKey& key);  // for good; the trash is RunPatch::deleted_us
  // The same, if the run is in the trash since before `before_us`; false: it is not, any more.
  Result<bool> delete_trashed_run(const RunKey& key, std::int64_t before_us);

  Result<std::vector<Attempt>> list_attempts(const RunKey& key) const;
  Result<void> put_attempts(const RunKey& key, const std::vector<Attempt>& attempts);

  // A sign of life; a crashed run is running again.
  Result<void> heartbeat(const RunKey& key, std::int64_t now_us);
  // Running runs that are silent for longer than `silence_of` says, in microseconds, are crashed
  // from now on; those for which it says nothing never are. Returns which. Nobody is silent for
  // longer than the store has been open.
  using Silence = std::function<std::optional<std::int64_t>(const RunFacts&)>;
  Result<std::vector<RunKey>> mark_crashed(std::int64_t now_us, const Silence& silence_of);

  // --- curves
  Result<std::uint64_t> log(const RunKey& key, std::vector<LogPoint> points, std::int64_t now_us);
  void log(const RunKey& key, std::vector<LogPoint> points, std::int64_t now_us,
           Done<std::uint64_t> done);
  Result<std::vector<Metric>> list_metrics(const RunKey& key) const;
  // A key the run has not logged is an empty series.
  Result<Series> read_series(const SeriesRequest& request) const;
  // The curves of all runs that match, one for each group. Reads every point of every run, up to
  // 20 million of a group; it may take seconds.
  Result<GroupCurves> group_curves(const GroupCurvesRequest& request, std::int64_t now_us) const;
  Result<track::Curve> read_history(const RunKey& run, const std::string& key,
                                    MetricKind kind = MetricKind::Metric) const;

  // --- event logs, each record exactly once. A run that is not known yet is made.
  Result<SourceState> find_source(const RunKey& key, const std::string& writer) const;
  Result<IngestAnswer> ingest(Frames frames, std::int64_t now_us);
  void ingest(Frames frames, std::int64_t now_us, Done<IngestAnswer> done);

  // --- records, console, files
  Result<void> add_records(const RunKey& key, std::vector<Record> records, std::int64_t now_us);
  Result<RecordAnswer> read_records(const RunKey& key, const RecordQuery& query) const;
  Result<std::vector<RecordKey>> list_record_keys(const RunKey& key) const;  // by type and key
  // Newest first; an empty project: all.
  Result<std::vector<Alert>> list_alerts(const std::string& project, std::size_t limit) const;
  Result<void> add_console(const RunKey& key, std::vector<ConsoleLine> lines, std::int64_t now_us);
  Result<Console> read_console(const RunKey& key, std::uint64_t from, std::size_t limit) const;
  Result<void> bind_file(const RunKey& key, const RunFile& file);
  // The blobs stay: Artifacts::free_unused().
  Result<void> unbind_files(const RunKey& key, const std::vector<std::string>& paths);
  Result<std::vector<RunFile>> list_files(const RunKey& key) const;
  Result<std::optional<RunFile>> find_file(const RunKey& key, const std::string& path) const;

  // --- views and the audit trail
  Result<std::vector<View>> list_views(const std::string& project) const;
  Result<std::optional<View>> find_view(const std::string& id) const;
  Result<void> put_view(const View& view, std::int64_t now_us);
  Result<bool> delete_view(const std::string& id);  // false: there was none
  Result<void> add_audit(const AuditLine& line);
  Result<std::vector<AuditLine>> list_audit(std::size_t limit) const;  // newest first

  // What the server has to remember about itself: the setting of that name, which `first` becomes
  // where there is none.
  Result<std::string> keep_setting(const std::string& name, const std::string& first);

 private:
  friend class Tables;  // store/internal/tables.h

  explicit Store(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kedge::store
