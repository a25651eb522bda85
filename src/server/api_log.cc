#include <utility>

#include <fmt/format.h>

#include "server/internal/routes.h"
#include "server/log_body.h"

namespace kedge::server {
namespace {

constexpr std::uint64_t kMaxLogBytes = 32U << 20U;

http::Response accepted(const Result<std::uint64_t>& count) {
  return count ? http::json_response(fmt::format("{{\"accepted\":{}}}", *count))
               : http::error_response(count.error());
}

}  // namespace

void add_log_routes(Routes& routes) {
  const Api& api = routes.api();
  const auto quick = [&api](http::Request&& request, const http::Answer& answer) {
    auto points = parse_log(request.body);
    if (!points) {
      answer(http::error_response(points.error()));
      return;
    }
    api.store.log(run_key(request), std::move(*points), api.now_us(),
                  [answer](Result<std::uint64_t> count) { answer(accepted(count)); });
  };
  const auto large = [&api](const http::Request& request) -> Result<http::Response> {
    auto points = KEDGE_TRY(parse_log(request.body));
    return accepted(api.store.log(run_key(request), std::move(points), api.now_us()));
  };
  routes.add_quick(http::Method::Post, "/api/v1/runs/{project}/{id}/log",
                   {.summary = "Log values: points, or those of one step",
                    .options = {.role = http::Role::Write, .max_body_bytes = kMaxLogBytes},
                    .body = R"({
                      points?: {
                        key: string,
                        step: integer,
                        value: WireNumber | boolean,
                        time_us?: time,
                        kind?: 'metric' | 'system',
                      }[],
                      epoch?: number,
                      step?: integer,  // of values, which need it
                      time_us?: time,
                      values?: {*: WireNumber | boolean},
                    })",
                    .answer = "{accepted: integer}"},
                   quick, large);
}

}  // namespace kedge::server
