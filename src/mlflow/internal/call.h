// One MLflow call: what its handler works with, and how it gets onto the router. Each subject's
// file adds its calls with Calls; this is the only place that knows prefixes and error bodies.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json_fwd.hpp>

#include "http/http.h"
#include "mlflow/internal/fault.h"
#include "mlflow/internal/fields.h"
#include "mlflow/routes.h"
#include "server/api.h"
#include "store/run.h"

namespace kedge::mlflow {

struct State;  // mlflow/internal/state.h

struct Call {
  const server::Api& api;
  State& state;
  const http::Request& request;
  const Fields& fields;
};

using CallHandler = Outcome<http::Response> (*)(const Call& call);

// For the calls that come thousands of times: does not wait, and answers later. What it returns is
// answered at once. `call` is gone when it returns.
using Finish = std::function<void(Outcome<void> done)>;
using QuickCallHandler = Outcome<void> (*)(const Call& call, Finish finish);

http::Response reply(const nlohmann::json& body);
http::Response reply_text(std::string json);  // a body that is rendered already
http::Response reply_empty();                 // {}
http::Response reply_fault(const Fault& fault, const http::Request& request);

// What the gate and the listener refuse, in MLflow's form.
http::Response write_refusal(int status, const http::Refusal& refusal);

class Calls {
 public:
  // The routes keep the state.
  Calls(http::Router& router, const server::Api& api, std::shared_ptr<State> state)
      : router_(router), api_(api), state_(std::move(state)) {}

  // What is added from now on is not about one project: keys for one are refused there.
  void leave_projects() { is_scoped_ = false; }

  // `path` is below /api/2.0/mlflow and, the same, /ajax-api/2.0/mlflow: "runs/create".
  void read(http::Method method, std::string_view path, CallHandler handler);
  void write(http::Method method, std::string_view path, CallHandler handler);
  // Any path, as it stands.
  void add(http::Method method, std::string pattern, http::RouteOptions options,
           CallHandler handler);
  // The same where the body is no JSON: there are no fields.
  void add_raw(http::Method method, std::string pattern, http::RouteOptions options,
               CallHandler handler);
  // Both prefixes, answered on the connection's thread.
  void write_quick(std::string_view path, QuickCallHandler handler);

 private:
  void add_both(http::Method method, std::string_view path, http::RouteOptions options,
                CallHandler handler);

  http::Router& router_;
  const server::Api& api_;
  std::shared_ptr<State> state_;
  bool is_scoped_ = true;  // handlers look themselves at whose project it is
};

http::RouteOptions read_options();
http::RouteOptions write_options();

// Milliseconds of MLflow and microseconds of ours. A time of 0 is "not known" here, and 0 ms a time
// there: it is the first microsecond.
std::int64_t from_ms(std::int64_t ms);
std::int64_t to_ms(std::int64_t us);

// PERMISSION_DENIED when the caller is confined to another project.
Outcome<void> check_access(const Call& call, const std::string& project,
                           const std::string& run = {});

// 32 hex digits that nobody has had.
std::string make_id();

// max_results and page_token of a search.
struct Page {
  std::size_t limit = 0;
  std::size_t offset = 0;
};

// `fallback` 0: the field is needed.
Outcome<Page> read_page(const Fields& fields, std::int64_t fallback, std::int64_t most);

// The page's share of `count` items into body[name], each rendered by its number, and where the
// next page begins.
void add_page(nlohmann::json& body, const char* name, const Page& page, std::size_t count,
              const std::function<nlohmann::json(std::size_t)>& render);

// {"key", "value"} for each.
nlohmann::json render_pairs(const KeyValues& pairs);

// --- the subjects, each in the file of its name
void add_info_calls(Calls& calls);
void add_experiment_calls(Calls& calls);
void add_run_calls(Calls& calls);
void add_log_calls(Calls& calls);
void add_tag_calls(Calls& calls);
void add_search_calls(Calls& calls);
void add_history_calls(Calls& calls);
void add_input_calls(Calls& calls);
void add_artifact_calls(Calls& calls);
void add_artifact_view_calls(Calls& calls);
void add_logged_model_calls(Calls& calls);
void add_registered_model_calls(Calls& calls);
void add_model_version_calls(Calls& calls);
void add_user_calls(Calls& calls);
void add_absent_calls(Calls& calls);

GraphqlAnswer make_graphql_answer(const server::Api& api, std::shared_ptr<State> state);

}  // namespace kedge::mlflow
