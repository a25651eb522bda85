#include <utility>

#include <fmt/format.h>

#include "server/ingest.h"
#include "server/internal/routes.h"

namespace kedge::server {
namespace {

constexpr std::uint64_t kMaxFrameBytes = 128U << 20U;
constexpr std::uint64_t kMaxFactsBytes = 32U << 20U;

std::string render_source_state(const store::SourceState& state) {
  return fmt::format(R"({{"next_seq":{},"offset":{},"digest":"{}"}})", state.next_seq, state.offset,
                     state.digest);
}

http::Response answer_of(const Result<store::IngestAnswer>& taken) {
  if (!taken) {
    return http::error_response(taken.error());
  }
  if (!taken->is_gap) {
    return http::json_response(render_source_state(taken->state));
  }
  const std::string message =
      fmt::format("records from {} on are needed, and later ones were sent", taken->state.next_seq);
  return http::json_response(
      fmt::format(R"({{"error":{{"code":"conflict","message":"{}"}},"next_seq":{},)"
                  R"("offset":{},"digest":"{}"}})",
                  message, taken->state.next_seq, taken->state.offset, taken->state.digest),
      409);
}

Result<store::Frames> frames_of(const http::Request& request, std::string bytes) {
  const std::int64_t from = KEDGE_TRY(request.query_number("from_seq", 0));
  return store::Frames{.run = run_key(request),
                       .writer = request.parameter("writer"),
                       .from_seq = static_cast<std::uint64_t>(from),
                       .bytes = std::move(bytes)};
}

}  // namespace

void add_ingest_routes(Routes& routes) {
  const Api& api = routes.api();
  const std::string run = "/api/v1/ingest/{project}/{id}";
  routes.name("Source", "{next_seq: integer, offset: integer, digest: string}");
  routes.add_quick(
      http::Method::Post, run + "/{writer}",
      {.summary = "Records of an event log (docs/formats/klog.md), each taken exactly once",
       .options = {.role = http::Role::Write, .max_body_bytes = kMaxFrameBytes},
       .query = R"({
         from_seq: integer(0..),  // number of the first record sent
       })",
       .body = "file",
       .answer = "Source"},
      [&api](http::Request&& request, const http::Answer& answer) {
        auto frames = frames_of(request, std::move(request.body));
        if (!frames) {
          answer(http::error_response(frames.error()));
          return;
        }
        api.store.ingest(
            std::move(*frames), api.now_us(),
            [answer](const Result<store::IngestAnswer>& taken) { answer(answer_of(taken)); });
      },
      [&api](const http::Request& request) -> Result<http::Response> {
        return answer_of(
            api.store.ingest(KEDGE_TRY(frames_of(request, request.body)), api.now_us()));
      });
  routes.add(http::Method::Get, run + "/{writer}",
             {.summary = "How far an event log has been taken in", .answer = "Source"},
             [&api](const http::Request& request, const Input&) -> Result<http::Response> {
               return http::json_response(render_source_state(KEDGE_TRY(
                   api.store.find_source(run_key(request), request.parameter("writer")))));
             });
  routes.add(http::Method::Put, run,
             {.summary = "What a run folder says of its run; also a sign of life",
              .options = {.role = http::Role::Write, .max_body_bytes = kMaxFactsBytes},
              .body = R"(RunPatch & {attempts?: {
                number: integer(1..2147483647),
                host?: string,
                started_us?: time,
                ended_us?: time,
                state?: string,
                from_step?: integer,
                changes?: ConfigChange[],
              }[]})",
              .answer = "Run"},
             [&api](const http::Request& request, const Input& input) -> Result<http::Response> {
               return http::json_response(dump(store::render_run(
                   KEDGE_TRY(take_facts(api.store, run_key(request), input, api.now_us())))));
             });
}

}  // namespace kedge::server
