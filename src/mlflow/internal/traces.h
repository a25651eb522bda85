// Traces of GenAI calls, as far as mlflow.trace and search_traces go: the facts of a trace as its
// client sends them, and its spans.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "mlflow/internal/otlp.h"
#include "store/store.h"

namespace kedge::mlflow {

struct Trace {
  std::string id = {};
  std::int64_t project = 0;
  std::int64_t time_ms = 0;
  nlohmann::json info = nlohmann::json::object();  // trace_info, as clients read it
};

class Traces {
 public:
  explicit Traces(store::Store& store) : store_(store) {}

  // What is there gets these facts; tags and metadata are merged.
  Result<void> put(const Trace& trace);
  Result<std::optional<Trace>> find(const std::string& id) const;
  Result<Trace> edit(const std::string& id,
                     const std::function<Result<void>(nlohmann::json& info)>& edit);
  // The newest first.
  Result<std::vector<Trace>> list(std::int64_t project) const;
  Result<std::int64_t> remove(const std::vector<std::string>& ids);

  // Of traces that are not known yet a trace is made, in this project.
  Result<void> add_spans(std::int64_t project, const std::vector<OtlpSpan>& spans);
  Result<nlohmann::json> spans(const std::string& id) const;  // by their start

  Result<void> link(const std::vector<std::string>& ids, const std::string& run_id);
  Result<std::vector<std::string>> linked(const std::string& run_id) const;

 private:
  store::Store& store_;
};

// A span as clients keep it in files: attributes are an object of JSON texts.
nlohmann::json render_span(const nlohmann::json& body);

// "2026-11-15T15:01:43.577Z" and "0.145s", both ways.
std::string render_time(std::int64_t ms);
std::optional<std::int64_t> parse_time(std::string_view text);
std::string render_duration(std::int64_t ms);
std::int64_t parse_duration_ms(std::string_view text);

}  // namespace kedge::mlflow
