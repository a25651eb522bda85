// Runs as MLflow's clients see them: found by their id alone, tags that are facts of ours (the
// name, the parent, the notes), states by other names.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "mlflow/internal/call.h"
#include "store/dialect/links.h"
#include "store/run.h"

namespace kedge::mlflow {

inline constexpr std::string_view kRunNameTag = "mlflow.runName";
inline constexpr std::string_view kParentTag = "mlflow.parentRunId";
inline constexpr std::string_view kNoteTag = "mlflow.note.content";
inline constexpr std::string_view kUserTag = "mlflow.user";

struct LoadedRun {
  store::RunKey key;
  store::RunFacts facts;
};

// `Run with id=X not found`. One in the trash is loaded too.
Outcome<LoadedRun> load_run(const Call& call, const std::string& id);
// And it can be written to: `The run X must be in the 'active' state.`
Outcome<LoadedRun> load_active_run(const Call& call, const std::string& id);
Outcome<void> check_active(const store::RunFacts& facts);

std::string_view status_of(store::RunState state);  // "FINISHED"
store::RunState state_of(int status);               // of the enum's number

std::string artifact_uri(const store::Project& project, std::string_view run_id);

// Puts a tag where it belongs: a fact of the run, or a label.
void set_tag(store::RunPatch& patch, const std::string& key, const std::string& value);
void remove_tag(store::RunPatch& patch, const std::string& key);

// The value of a tag that is a fact of ours; nothing when it is not one, or empty.
std::optional<std::string_view> fact_tag(const store::RunFacts& facts, std::string_view key);

std::string render_info(const store::RunFacts& facts, const store::Project& project);

// The whole run: {"info", "data", "inputs", "outputs"}.
Outcome<void> append_run(std::string& out, const store::FoundRun& run,
                         const store::Project& project, const store::Links& links);

}  // namespace kedge::mlflow
