// The native API, /api/v1: each api_*.cc adds the routes of one subject to the router.
// docs/reference/api.md is for its users, openapi.json for their programs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "core/result.h"
#include "server/access.h"
#include "server/events.h"
#include "server/http.h"
#include "store/artifacts.h"
#include "store/blobs.h"
#include "store/models.h"
#include "store/store.h"

namespace kedge::server {

inline constexpr std::int64_t kTrashDays = 30;

// What handlers work with; it outlives the router.
struct Api {
  store::Store& store;
  store::BlobStore& blobs;
  store::Artifacts& artifacts;
  store::Models& models;
  Access& access;
  EventHub& events;
  std::function<std::int64_t()> now_us;  // Unix time
  std::int64_t trash_days = kTrashDays;  // how long deleted runs can be restored

  // A line in the audit trail. Its failure is a warning: what was done is done.
  void audit(const Request& request, std::string_view what, const std::string& target,
             const nlohmann::json& detail = nlohmann::json::object()) const;
};

void add_health_routes(Router& router);                    // api_health.cc
void add_project_routes(Router& router, const Api& api);   // api_projects.cc
void add_run_routes(Router& router, const Api& api);       // api_runs.cc
void add_log_routes(Router& router, const Api& api);       // api_log.cc
void add_series_routes(Router& router, const Api& api);    // api_series.cc
void add_group_routes(Router& router, const Api& api);     // api_groups.cc
void add_ingest_routes(Router& router, const Api& api);    // api_ingest.cc
void add_record_routes(Router& router, const Api& api);    // api_records.cc
void add_file_routes(Router& router, const Api& api);      // api_files.cc
void add_artifact_routes(Router& router, const Api& api);  // api_artifacts.cc
void add_model_routes(Router& router, const Api& api);     // api_models.cc
void add_view_routes(Router& router, const Api& api);      // api_views.cc
void add_event_routes(Router& router, const Api& api);     // api_events.cc
void add_user_routes(Router& router, const Api& api);      // api_users.cc
void add_sweep_routes(Router& router, const Api& api);     // api_sweeps.cc

void add_api_routes(Router& router, const Api& api);  // all of them

// Whether the project may have the request's body as one more file: Artifacts::check_quota().
Result<void> check_quota(const Api& api, const Request& request, const std::string& project);

// A blob under its name in a run or an artifact; Range is heeded where it lies in a file.
Result<Response> blob_response(const Api& api, const Request& request, const store::RunFile& file);

// The body as JSON; Usage, with the place, when it is none or nested too deeply.
Result<nlohmann::json> parse_json(std::string_view text);
// The same, and it must be an object.
Result<nlohmann::json> parse_object(const Request& request);

std::string dump(const nlohmann::json& json);

store::RunKey run_key(const Request& request);  // of {project} and {id}

// A field of a JSON object: nothing when it is missing, Usage when it has another type.
Result<std::optional<std::string>> find_text(const nlohmann::json& json, const char* name);
Result<std::optional<double>> find_number(const nlohmann::json& json, const char* name);
Result<std::optional<std::int64_t>> find_integer(const nlohmann::json& json, const char* name);
Result<std::optional<std::vector<std::string>>> find_texts(const nlohmann::json& json,
                                                           const char* name);
// Usage, with the nearest known name, when the object has a key that is not one of these.
Result<void> check_names(const nlohmann::json& json, std::initializer_list<const char*> names);

// project, trash, filter, order, limit and offset of a request, confined to what the caller may
// read; NotFound when it names another project. (api_search.cc)
Result<store::Search> parse_search(const nlohmann::json& json, const Caller& caller);

// The project that the query names, or the caller's own; empty: all. NotFound when it is not open
// to the caller. (api_search.cc)
Result<std::string> project_of(const Request& request);

// A number as JSON shows it: NaN and infinities are texts.
void append_number(std::string& out, double value);
void append_text(std::string& out, std::string_view text);  // quoted

}  // namespace kedge::server
