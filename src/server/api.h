// The native API, /api/v1, and what all dialects of the server share. docs/reference/api.md is for
// its users, GET /api/v1/openapi.json for their programs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "core/result.h"
#include "http/http.h"
#include "server/access.h"
#include "server/events.h"
#include "store/artifacts.h"
#include "store/blobs.h"
#include "store/models.h"
#include "store/store.h"

namespace kedge::server {

class SweepHost;

inline constexpr std::int64_t kTrashDays = 30;

// What handlers work with; it outlives the router.
struct Api {
  store::Store& store;
  store::BlobStore& blobs;
  store::Artifacts& artifacts;
  store::Models& models;
  Access& access;
  EventHub& events;
  SweepHost& sweeps;
  std::function<std::int64_t()> now_us;  // Unix time
  std::int64_t trash_days = kTrashDays;  // how long deleted runs can be restored

  // A line in the audit trail. Its failure is a warning: what was done is done.
  void audit(const http::Request& request, std::string_view what, const std::string& target,
             const nlohmann::json& detail = nlohmann::json::object()) const;
};

// All of the native API, with what describes it: server/internal/routes.h.
void add_api_routes(http::Router& router, const Api& api);

// Whether the project may have the request's body as one more file: Artifacts::check_quota().
Result<void> check_quota(const Api& api, const http::Request& request, const std::string& project);

// A blob under its name in a run or an artifact; Range is heeded where it lies in a file.
Result<http::Response> blob_response(const Api& api, const http::Request& request,
                                     const store::RunFile& file);

// The body as JSON; Usage, with the place, when it is none or nested too deeply.
Result<nlohmann::json> parse_json(std::string_view text);
// The same, and it must be an object.
Result<nlohmann::json> parse_object(const http::Request& request);

std::string dump(const nlohmann::json& json);

store::RunKey run_key(const http::Request& request);  // of {project} and {id}

// A number as JSON shows it: NaN and infinities are texts.
void append_number(std::string& out, double value);
void append_text(std::string& out, std::string_view text);  // quoted

}  // namespace kedge::server
