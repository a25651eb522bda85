// Whether traces that one filter finds are those that another finds.
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "mlflow/internal/call.h"
#include "mlflow/internal/npmi.h"
#include "mlflow/internal/objects.h"
#include "mlflow/internal/trace_search.h"

namespace kedge::mlflow {
namespace {

using server::Method;
using server::Response;

constexpr double kJeffreys = 0.5;

Outcome<Response> correlate(const Call& call) {
  const auto first =
      KEDGE_TRY(parse_filter(KEDGE_TRY(call.fields.need_text("filter_string1")), kTraceLanguage));
  const auto second =
      KEDGE_TRY(parse_filter(KEDGE_TRY(call.fields.need_text("filter_string2")), kTraceLanguage));
  const auto base =
      KEDGE_TRY(parse_filter(KEDGE_TRY(call.fields.text("base_filter")), kTraceLanguage));
  PairCounts counts;
  for (const Trace& trace : KEDGE_TRY(read_traces(call))) {
    if (!KEDGE_TRY(matches(call, trace, base))) {
      continue;
    }
    const bool is_first = KEDGE_TRY(matches(call, trace, first));
    const bool is_second = KEDGE_TRY(matches(call, trace, second));
    counts.total += 1;
    counts.first += is_first ? 1 : 0;
    counts.second += is_second ? 1 : 0;
    counts.both += is_first && is_second ? 1 : 0;
  }
  nlohmann::json body = {{"filter1_count", counts.first},
                         {"filter2_count", counts.second},
                         {"joint_count", counts.both},
                         {"total_count", counts.total}};
  // Missing is NaN to clients.
  if (const double score = npmi(counts); !std::isnan(score)) {
    body["npmi"] = score;
    body["npmi_smoothed"] = npmi(counts, kJeffreys);
  }
  return reply(body);
}

}  // namespace

void add_trace_correlation_calls(Calls& calls) {
  read_v3(calls, Method::Post, "traces/calculate-filter-correlation", correlate);
}

}  // namespace kedge::mlflow
