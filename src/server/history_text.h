// Every point of a run's curves in the formats of other programs, made in pieces: a long history
// never stands in memory as text, only one curve's points at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/http.h"
#include "store/store.h"

namespace kedge::server {

enum class HistoryFormat : std::uint8_t { Json, JsonLines, Csv, Parquet };

std::optional<HistoryFormat> parse_history_format(std::string_view name);
std::string_view content_type_of(HistoryFormat format);

struct HistoryRequest {
  store::RunKey run;
  std::vector<std::string> keys;
  store::MetricKind kind = store::MetricKind::Metric;
  HistoryFormat format = HistoryFormat::Json;
  bool with_replaced = false;  // also what later attempts replaced
};

// {"points": [{"key", "step", "value", "time_us", "attempt"}]}, the same objects line by line, CSV
// with a head, or Parquet. Replaced points have "replaced": true.
http::BodyProducer make_history_producer(const store::Store& store, HistoryRequest request);

}  // namespace kedge::server
