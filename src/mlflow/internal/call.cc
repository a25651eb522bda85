#include "mlflow/internal/call.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/log.h"
#include "core/random_text.h"
#include "mlflow/internal/page_token.h"
#include "mlflow/internal/state.h"

namespace kedge::mlflow {
namespace {

// 100 tags of 8000 characters of four bytes, and some.
constexpr std::uint64_t kMaxBodyBytes = 32ULL << 20U;

http::Response with_json(std::string body, int status) {
  return http::json_response(std::move(body), status);
}

Outcome<http::Response> answer(const server::Api& api, State& state, const http::Request& request,
                               CallHandler handler) {
  const Fields fields = KEDGE_TRY(Fields::read(request));
  return handler({.api = api, .state = state, .request = request, .fields = fields});
}

Outcome<void> begin(const server::Api& api, State& state, const http::Request& request,
                    QuickCallHandler handler, Finish finish) {
  const Fields fields = KEDGE_TRY(Fields::read(request));
  return handler({.api = api, .state = state, .request = request, .fields = fields},
                 std::move(finish));
}

}  // namespace

http::Response reply(const nlohmann::json& body) {
  return with_json(server::dump(body), 200);
}

http::Response reply_text(std::string json) {
  return with_json(std::move(json), 200);
}

http::Response reply_empty() {
  return with_json("{}", 200);
}

http::Response reply_fault(const Fault& fault, const http::Request& request) {
  if (fault.code == Code::InternalError) {
    warn("{} {}: {}", http::name_of(request.method), request.path, fault.message);
  }
  http::Response response = with_json(render_fault(fault), status_of(fault.code));
  if (fault.code == Code::TemporarilyUnavailable) {
    response.headers.add("Retry-After", "1");
  }
  return response;
}

http::Response write_refusal(int status, const http::Refusal& refusal) {
  if (status == 401) {
    http::Response response{.status = 401,
                            .body = std::string("You are not authenticated. Set "
                                                "MLFLOW_TRACKING_USERNAME and "
                                                "MLFLOW_TRACKING_PASSWORD, or "
                                                "MLFLOW_TRACKING_TOKEN.")};
    response.headers.add("Content-Type", "text/plain; charset=utf-8");
    response.headers.add("WWW-Authenticate", "Basic realm=\"mlflow\"");
    return response;
  }
  const std::string message =
      refusal.hint.empty() ? refusal.message : refusal.message + "; " + refusal.hint;
  return with_json(render_fault({code_of_status(status), message}), status);
}

http::RouteOptions read_options() {
  return {.role = http::Role::View,
          .max_body_bytes = kMaxBodyBytes,
          .is_scoped = true,
          .refuse = write_refusal};
}

http::RouteOptions write_options() {
  http::RouteOptions options = read_options();
  options.role = http::Role::Write;
  return options;
}

void Calls::add(http::Method method, std::string pattern, http::RouteOptions options,
                CallHandler handler) {
  router_.add(method, std::move(pattern), options,
              [&api = api_, state = state_,
               handler](const http::Request& request) -> Result<http::Response> {
                auto response = answer(api, *state, request, handler);
                return response ? std::move(*response) : reply_fault(response.error(), request);
              });
}

void Calls::add_raw(http::Method method, std::string pattern, http::RouteOptions options,
                    CallHandler handler) {
  router_.add(method, std::move(pattern), options,
              [&api = api_, state = state_,
               handler](const http::Request& request) -> Result<http::Response> {
                const Fields none(nlohmann::json::object());
                auto response =
                    handler({.api = api, .state = *state, .request = request, .fields = none});
                return response ? std::move(*response) : reply_fault(response.error(), request);
              });
}

void Calls::add_both(http::Method method, std::string_view path, http::RouteOptions options,
                     CallHandler handler) {
  options.is_scoped = is_scoped_;
  add(method, fmt::format("/api/2.0/mlflow/{}", path), options, handler);
  add(method, fmt::format("/ajax-api/2.0/mlflow/{}", path), options, handler);
}

void Calls::read(http::Method method, std::string_view path, CallHandler handler) {
  add_both(method, path, read_options(), handler);
}

void Calls::write(http::Method method, std::string_view path, CallHandler handler) {
  add_both(method, path, write_options(), handler);
}

void Calls::write_quick(std::string_view path, QuickCallHandler handler) {
  const auto quick = [&api = api_, state = state_, handler](http::Request&& request,
                                                            const http::Answer& answer) {
    const auto kept = std::make_shared<http::Request>(std::move(request));
    const auto finish = [kept, answer](const Outcome<void>& done) {
      answer(done ? reply_empty() : reply_fault(done.error(), *kept));
    };
    if (auto begun = begin(api, *state, *kept, handler, finish); !begun) {
      finish(begun);
    }
  };
  for (const std::string_view prefix : {"/api/2.0/mlflow/", "/ajax-api/2.0/mlflow/"}) {
    router_.add_quick(http::Method::Post, fmt::format("{}{}", prefix, path), write_options(),
                      quick);
  }
}

std::int64_t from_ms(std::int64_t ms) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 1000;
  return ms == 0 ? 1 : std::min(ms, kMost) * 1000;
}

std::int64_t to_ms(std::int64_t us) {
  return us / 1000;
}

Outcome<void> check_access(const Call& call, const std::string& project, const std::string& run) {
  if (auto allowed = server::check_project(call.request.caller, project, run); !allowed) {
    return refuse(Code::PermissionDenied, allowed.error().message);
  }
  return {};
}

std::string make_id() {
  return make_random_hex(16);
}

Outcome<Page> read_page(const Fields& fields, std::int64_t fallback, std::int64_t most) {
  const std::int64_t limit = KEDGE_TRY(fields.find_integer("max_results")).value_or(fallback);
  if (limit < 1) {
    return refuse(
        fmt::format("Invalid value {} for parameter 'max_results' supplied. It must be a "
                    "positive integer",
                    limit));
  }
  if (limit > most) {
    return refuse(
        fmt::format("Invalid value {} for parameter 'max_results' supplied. It must be at "
                    "most {}",
                    limit, most));
  }
  const std::string token = KEDGE_TRY(fields.text("page_token"));
  return Page{.limit = static_cast<std::size_t>(limit),
              .offset = KEDGE_TRY(parse_page_token(token))};
}

void add_page(nlohmann::json& body, const char* name, const Page& page, std::size_t count,
              const std::function<nlohmann::json(std::size_t)>& render) {
  const std::size_t end = std::min(count, page.offset + page.limit);
  for (std::size_t i = page.offset; i < end; ++i) {
    body[name].push_back(render(i));
  }
  if (end < count) {
    body["next_page_token"] = make_page_token(end);
  }
}

nlohmann::json render_pairs(const KeyValues& pairs) {
  nlohmann::json list = nlohmann::json::array();
  for (const auto& [key, value] : pairs) {
    list.push_back({{"key", key}, {"value", value}});
  }
  return list;
}

}  // namespace kedge::mlflow
