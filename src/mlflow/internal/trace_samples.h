// What a question over traces is about, one by one: a trace, a span or an assessment with the
// number that is asked for and the words by which the answer is grouped.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mlflow/internal/call.h"
#include "mlflow/internal/traces.h"

namespace kedge::mlflow {

enum class TraceView : std::uint8_t { Traces = 1, Spans, Assessments };  // MLflow's numbers

// `trace.tag.KEY = 'x'`, `span.name = 'x'`, `assessment.name = 'x'`: one comparison, always with =.
struct SampleFilter {
  std::string view;
  std::string entity;
  std::string key;  // of tags and metadata
  std::string value;
};

// INVALID_PARAMETER_VALUE for another text, or one that is not about the view's samples.
Outcome<SampleFilter> parse_sample_filter(const std::string& text, TraceView view);

struct SampleQuery {
  TraceView view = TraceView::Traces;
  std::string metric;
  std::vector<std::string> dimensions = {};
  std::vector<SampleFilter> filters = {};
  std::optional<std::int64_t> first_ms = {};
  std::optional<std::int64_t> last_ms = {};
};

struct Sample {
  std::int64_t time_ms = 0;
  double value = 0;
  std::string once = {};                // not empty: all samples with this word count as one
  std::vector<std::string> words = {};  // of the dimensions, in their order
};

// What has no such number or lacks a word is left out.
Outcome<void> add_samples(const Call& call, const Trace& trace, const SampleQuery& query,
                          std::vector<Sample>& samples);

}  // namespace kedge::mlflow
