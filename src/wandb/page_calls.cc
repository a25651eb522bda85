// What the page asks of W&B's dialect alone: how a run wants its plots drawn, and where a table's
// pictures are.
#include "wandb/internal/page_calls.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "wandb/internal/artifact_nodes.h"
#include "wandb/internal/nodes.h"

namespace kedge::wandb {

using nlohmann::json;

Result<http::Response> list_panels(const Call& call) {
  const store::RunKey key{call.request.parameter("project"), call.request.parameter("run")};
  KEDGE_TRY(call.check(key.project, key.id));
  const RunNode run(call, key, call.viewer());
  KEDGE_TRY(run.facts());
  const json config = KEDGE_TRY(run.document(kConfigDocument));
  const json::json_pointer place("/_wandb/value/visualize");
  const json panels = config.contains(place) ? config[place] : json();
  return http::json_response(
      server::dump({{"panels", panels.is_object() ? panels : json::object()}}));
}

namespace {

// A table that is logged again unchanged makes no version: its version is the run's last one before
// the step that holds the file. Clients leave out the step 0.
Result<std::optional<store::ArtifactVersion>> find_version_at(const Call& call,
                                                              const std::string& file,
                                                              std::int64_t step) {
  const store::RunKey run{std::string(call.request.query_value("project").value_or("")),
                          std::string(call.request.query_value("run").value_or(""))};
  KEDGE_TRY(call.check(run.project, run.id));
  auto made = KEDGE_TRY(call.api.artifacts.of_run(run)).made;
  for (auto version = made.rbegin(); version != made.rend(); ++version) {
    const auto draft = KEDGE_TRY(drafts_of(call).find_version(*version));
    if (version->type != "run_table" || !draft || draft->history_step.value_or(0) > step) {
      continue;
    }
    const auto files = KEDGE_TRY(call.api.artifacts.files(*version));
    if (std::ranges::find(files, file, &store::ArtifactFile::path) != files.end()) {
      return std::move(*version);
    }
  }
  return std::nullopt;
}

Result<std::optional<store::ArtifactVersion>> find_named_version(const Call& call) {
  const http::Request& request = call.request;
  const auto draft = KEDGE_TRY(drafts_of(call).find_client(request.parameter("client")));
  if (draft && draft->version) {
    return KEDGE_TRY(
        call.api.artifacts.find(draft->project, draft->name, std::to_string(*draft->version)));
  }
  return find_version_at(call, std::string(request.query_value("file").value_or("")),
                         KEDGE_TRY(request.query_number("step", 0)));
}

}  // namespace

Result<http::Response> find_client_artifact(const Call& call) {
  const auto version = KEDGE_TRY(find_named_version(call));
  if (!version || !call.check(version->project)) {
    return fail(ErrorKind::NotFound, fmt::format("no version of an artifact is known as '{}'",
                                                 call.request.parameter("client")));
  }
  return http::json_response(server::dump({{"project", version->project},
                                           {"name", version->name},
                                           {"version", fmt::format("v{}", version->version)}}));
}

}  // namespace kedge::wandb
