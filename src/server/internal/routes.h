// The routes of the native API as each api_*.cc declares them. What a call declares is what holds:
// its query and its body are checked before the handler runs (nothing that is not declared is
// accepted), and GET /api/v1/openapi.json tells the same. The page's types are made of that
// (tools/api_types.py), and tests/server holds every answer to it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/result.h"
#include "http/http.h"
#include "server/api.h"
#include "server/internal/shape.h"

namespace kedge::server {

// Query, body and answer are shapes (server/internal/shape.h).
struct Call {
  std::string_view summary;
  http::RouteOptions options = {};
  std::string_view query = "{}";                   // of texts, numbers, and lists of words
  std::string_view body = "{}";                    // "file": the handler reads it as it is
  std::string_view answer = {};                    // of the first status; empty: it has no body
  std::vector<int> statuses = {};                  // where not 200, or 204 without an answer
  std::vector<std::string_view> other_types = {};  // in which answers come too
};

// The fields of the query and the body of a request, as declared.
using Input = nlohmann::json;

// A field that has no default.
template <typename T>
std::optional<T> find(const Input& input, const char* name) {
  const auto found = input.find(name);
  return found == input.end() ? std::nullopt : std::optional<T>(found->template get<T>());
}

class Routes {
 public:
  using Handling =
      std::function<Result<http::Response>(const http::Request& request, const Input& input)>;

  Routes(http::Router& router, const Api& api);

  const Api& api() const { return api_; }

  // Shapes of more than one call, and those that the page has names for.
  void name(std::string_view name, std::string_view shape) { shapes_->name(name, shape); }

  void add(http::Method method, std::string pattern, const Call& call, Handling handling);

  // The same for a function that takes what it needs of (api, request, input).
  template <typename... Rest>
  void add(http::Method method, std::string pattern, const Call& call,
           Result<http::Response> (*handler)(const Api&, Rest...)) {
    add(method, std::move(pattern), call,
        [&api = api_, handler](const http::Request& request, const Input& input) {
          if constexpr (sizeof...(Rest) == 2) {
            return handler(api, request, input);
          } else {
            return handler(api, request);
          }
        });
  }

  // For calls that cannot afford the general reading: they check their bodies by themselves.
  void add_quick(http::Method method, std::string pattern, const Call& call,
                 http::QuickHandler quick, http::Handler handler);

  // OpenAPI 3.1, of all that has been added.
  std::string openapi() const;

 private:
  void describe(http::Method method, const std::string& pattern, const Call& call);

  http::Router& router_;
  const Api& api_;
  std::shared_ptr<Shapes> shapes_;  // the handlers' too: they outlive this
  Schema paths_ = Schema::object();
};

// project, filter, order, limit, offset and trash of a request that says which runs it is about.
inline constexpr std::string_view kSearchShape = R"({
    project?: string = "",
    filter?: string = "",  // docs/reference/query.md
    order?: string[] = [],
    limit?: integer(0..10000) = 100,
    offset?: integer(0..) = 0,
    trash?: boolean = false,  // the runs in the trash instead
  })";

// Confined to what the caller may read; NotFound when it names another project. (api_search.cc)
Result<store::Search> search_of(const Input& input, const http::Caller& caller);

// What a CurveRequest wants, without run and key. (api_series.cc)
store::SeriesRequest curve_of(const Input& input);

// The project that the query names, or the caller's own; empty: all. NotFound when it is not open
// to the caller. (api_search.cc)
Result<std::string> project_of(const http::Request& request, const Input& input);

void add_project_routes(Routes& routes);   // api_projects.cc
void add_run_routes(Routes& routes);       // api_runs.cc
void add_log_routes(Routes& routes);       // api_log.cc
void add_series_routes(Routes& routes);    // api_series.cc
void add_group_routes(Routes& routes);     // api_groups.cc
void add_ingest_routes(Routes& routes);    // api_ingest.cc
void add_record_routes(Routes& routes);    // api_records.cc
void add_file_routes(Routes& routes);      // api_files.cc
void add_artifact_routes(Routes& routes);  // api_artifacts.cc
void add_model_routes(Routes& routes);     // api_models.cc
void add_view_routes(Routes& routes);      // api_views.cc
void add_event_routes(Routes& routes);     // api_events.cc
void add_user_routes(Routes& routes);      // api_users.cc
void add_sweep_routes(Routes& routes);     // api_sweeps.cc

}  // namespace kedge::server
