// Spans as OpenTelemetry's exporters send them: protobuf (ExportTraceServiceRequest), made JSON
// with the names and forms MLflow's clients read: ids in base64, times as numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/result.h"

namespace kedge::mlflow {

struct OtlpSpan {
  std::string trace_id =
      {};  // "tr-" and hex digits, or what the attribute mlflow.traceRequestId says
  std::string span_id = {};  // hex digits
  bool is_root = false;
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;
  nlohmann::json body = {};
};

// Corrupt when it is no such message.
Result<std::vector<OtlpSpan>> parse_otlp(std::string_view bytes);

}  // namespace kedge::mlflow
