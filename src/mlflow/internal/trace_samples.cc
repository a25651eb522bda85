#include "mlflow/internal/trace_samples.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "mlflow/internal/filter_reader.h"
#include "mlflow/internal/state.h"
#include "mlflow/internal/trace_search.h"

namespace kedge::mlflow {
namespace {

using nlohmann::json;

struct FilterRule {
  std::string_view view;
  std::string_view entity;
  bool has_key = false;
};

constexpr auto kFilterRules = std::to_array<FilterRule>({
    {"trace", "status"},
    {"trace", "tag", true},
    {"trace", "metadata", true},
    {"span", "name"},
    {"span", "status"},
    {"span", "type"},
    {"assessment", "name"},
    {"assessment", "type"},
});

// One of the things that are counted, by the names that questions use.
struct Thing {
  std::int64_t time_ms = 0;
  std::string session = {};  // of a trace
  std::function<std::optional<double>(const std::string& metric)> number = {};
  std::function<std::optional<std::string>(const std::string& dimension)> word = {};
};

std::optional<std::string> text_field(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? std::optional(found->get<std::string>())
                                                     : std::nullopt;
}

std::optional<double> number_field(const json& object, const std::string& name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number() ? std::optional(found->get<double>())
                                                     : std::nullopt;
}

// Clients write some objects as a JSON text.
json object_of(const json& value) {
  json object = value.is_string() ? json::parse(value.get<std::string>(), nullptr, false) : value;
  return object.is_object() ? object : json::object();
}

Thing thing_of(const Trace& trace) {
  Thing thing{
      .time_ms = trace.time_ms,
      .session = find_trace_text(trace, "trace_metadata", "mlflow.trace.session").value_or("")};
  thing.number = [&trace, has_session = !thing.session.empty()](
                     const std::string& metric) -> std::optional<double> {
    if (metric == "trace_count") {
      return 1;
    }
    if (metric == "session_count") {
      return has_session ? std::optional(1.0) : std::nullopt;
    }
    if (metric == "latency") {
      const auto duration = text_field(trace.info, "execution_duration");
      return duration ? std::optional(static_cast<double>(parse_duration_ms(*duration)))
                      : std::nullopt;
    }
    const auto usage = find_trace_text(trace, "trace_metadata", "mlflow.trace.tokenUsage");
    return usage ? number_field(object_of(*usage), metric) : std::nullopt;
  };
  thing.word = [&trace](const std::string& dimension) {
    return dimension == "trace_name" ? find_trace_text(trace, "tags", "mlflow.traceName")
                                     : text_field(trace.info, "state");
  };
  return thing;
}

json attribute_of(const json& span, const char* key) {
  const auto& attributes = span.at("attributes");
  const auto found = attributes.find(key);
  // As render_span() has it: the value's JSON as a text.
  return found == attributes.end() ? json()
                                   : json::parse(found->get<std::string>(), nullptr, false);
}

std::optional<std::string> word_of_span(const json& span, std::string_view name) {
  if (name == "span_name") {
    return span.at("name").get<std::string>();
  }
  if (name == "span_status") {
    constexpr std::string_view kPrefix = "STATUS_CODE_";
    auto code = span.at("status").at("code").get<std::string>();
    return code.starts_with(kPrefix) ? code.substr(kPrefix.size()) : code;
  }
  const char* key = name == "span_type"         ? "mlflow.spanType"
                    : name == "span_model_name" ? "mlflow.llm.model"
                                                : "mlflow.llm.provider";
  const json value = attribute_of(span, key);
  return value.is_string() ? std::optional(value.get<std::string>()) : std::nullopt;
}

Thing thing_of_span(const json& span) {
  const auto start_ns = span.at("start_time_unix_nano").get<std::uint64_t>();
  const auto end_ns = std::max(span.at("end_time_unix_nano").get<std::uint64_t>(), start_ns);
  Thing thing{.time_ms = static_cast<std::int64_t>(start_ns / 1'000'000)};
  thing.number = [&span, start_ns, end_ns](const std::string& metric) -> std::optional<double> {
    if (metric == "span_count") {
      return 1;
    }
    if (metric == "latency") {
      const std::uint64_t whole_ms = (end_ns - start_ns) / 1'000'000;
      return static_cast<double>(whole_ms);
    }
    return number_field(object_of(attribute_of(span, "mlflow.llm.cost")), metric);
  };
  thing.word = [&span](const std::string& name) { return word_of_span(span, name); };
  return thing;
}

const char* type_of_assessment(const json& assessment) {
  return assessment.contains("feedback")      ? "feedback"
         : assessment.contains("expectation") ? "expectation"
                                              : "issue";
}

json value_of(const json& assessment) {
  const auto part = assessment.find(type_of_assessment(assessment));
  return part != assessment.end() && part->is_object() ? part->value("value", json()) : json();
}

// Yes and no are numbers, too.
std::optional<double> number_of_value(const json& value) {
  if (value.is_boolean()) {
    return value.get<bool>() ? 1 : 0;
  }
  if (value.is_number()) {
    return value.get<double>();
  }
  if (!value.is_string()) {
    return std::nullopt;
  }
  auto word = value.get<std::string>();
  std::ranges::transform(word, word.begin(), [](unsigned char c) { return std::tolower(c); });
  return word == "yes" ? std::optional(1.0) : word == "no" ? std::optional(0.0) : std::nullopt;
}

Thing thing_of_assessment(const json& assessment, std::int64_t time_ms) {
  Thing thing{.time_ms = time_ms};
  thing.number = [&assessment](const std::string& metric) -> std::optional<double> {
    return metric == "assessment_count" ? std::optional(1.0)
                                        : number_of_value(value_of(assessment));
  };
  thing.word = [&assessment](const std::string& dimension) -> std::optional<std::string> {
    return dimension == "assessment_name" ? text_field(assessment, "assessment_name")
                                          : std::optional(server::dump(value_of(assessment)));
  };
  return thing;
}

bool is_in(std::int64_t time_ms, const SampleQuery& query) {
  return time_ms >= query.first_ms.value_or(time_ms) && time_ms <= query.last_ms.value_or(time_ms);
}

void add_sample(const Thing& thing, const SampleQuery& query, std::vector<Sample>& samples) {
  const auto value = thing.number(query.metric);
  if (!value) {
    return;
  }
  Sample sample{.time_ms = thing.time_ms, .value = *value};
  if (query.metric == "session_count") {
    sample.once = thing.session;
  }
  for (const std::string& dimension : query.dimensions) {
    auto word = thing.word(dimension);
    if (!word) {
      return;
    }
    sample.words.push_back(std::move(*word));
  }
  samples.push_back(std::move(sample));
}

bool passes_span(const json& span, const std::vector<SampleFilter>& filters) {
  return std::ranges::all_of(filters, [&](const SampleFilter& filter) {
    return filter.view != "span" || word_of_span(span, "span_" + filter.entity) == filter.value;
  });
}

bool passes_assessment(const json& assessment, const std::vector<SampleFilter>& filters) {
  return std::ranges::all_of(filters, [&](const SampleFilter& filter) {
    return filter.view != "assessment" ||
           (filter.entity == "type" ? type_of_assessment(assessment) == filter.value
                                    : text_field(assessment, "assessment_name") == filter.value);
  });
}

bool is_cost(const SampleQuery& query) {
  return query.metric.ends_with("_cost");
}

void add_span_samples(const json& bodies, const SampleQuery& query, std::vector<Sample>& samples) {
  for (const json& body : bodies) {
    const json span = render_span(body);
    const Thing thing = thing_of_span(span);
    if (passes_span(span, query.filters) && (!is_cost(query) || is_in(thing.time_ms, query))) {
      add_sample(thing, query, samples);
    }
  }
}

void add_assessments(const Trace& trace, const SampleQuery& query, std::vector<Sample>& samples) {
  for (const json& assessment : trace.info.value("assessments", json::array())) {
    // What was replaced by another is not counted beside it.
    if (assessment.value("valid", true) && passes_assessment(assessment, query.filters)) {
      add_sample(thing_of_assessment(assessment, trace.time_ms), query, samples);
    }
  }
}

Outcome<bool> passes_trace(const Call& call, const Trace& trace,
                           const std::vector<SampleFilter>& filters) {
  for (const SampleFilter& filter : filters) {
    bool is_passed = filter.view != "trace";
    if (filter.entity == "status") {
      is_passed = is_passed || text_field(trace.info, "state") == filter.value;
    } else if (filter.key == "mlflow.sourceRun") {
      is_passed = is_passed || KEDGE_TRY(is_of_run(call, trace, filter.value));
    } else {
      const char* group = filter.entity == "tag" ? "tags" : "trace_metadata";
      is_passed = is_passed || find_trace_text(trace, group, filter.key) == filter.value;
    }
    if (!is_passed) {
      return false;
    }
  }
  return true;
}

}  // namespace

Outcome<SampleFilter> parse_sample_filter(const std::string& text, TraceView view) {
  const auto sentences = KEDGE_TRY(read_sentences(text, true));
  if (sentences.size() != 1) {
    return refuse(fmt::format("Invalid filter: '{}'. Expected one filter clause.", text));
  }
  const Sentence& sentence = sentences.front();
  const std::string_view name = sentence.name.text;
  const auto first = std::min(name.find('.'), name.size());
  const auto second = std::min(name.find('.', first + 1), name.size());
  const auto after = [&](std::size_t dot) { return name.substr(std::min(dot + 1, name.size())); };
  SampleFilter filter{.view = std::string(name.substr(0, first)),
                      .entity = std::string(after(first).substr(0, second - first - 1)),
                      .key = std::string(unquoted(after(second))),
                      .value = std::string(unquoted(sentence.value.text))};
  const auto rule = std::ranges::find_if(kFilterRules, [&](const FilterRule& each) {
    return each.view == filter.view && each.entity == filter.entity &&
           each.has_key != filter.key.empty();
  });
  if (rule == kFilterRules.end()) {
    return refuse(
        fmt::format("Invalid identifier '{}'. Columns should be specified as 'trace.status', "
                    "'trace.tag.<key>', 'trace.metadata.<key>', 'span.<name, status or type>', "
                    "'assessment.<name or type>'.",
                    name));
  }
  if (sentence.comparator != "=") {
    return refuse(fmt::format("Invalid comparator: '{}', only '=' operator is supported",
                              sentence.as_written));
  }
  if (sentence.value.text.size() == filter.value.size()) {
    return refuse(
        fmt::format("Expected a quoted string value for {} value (e.g. 'my-value'). "
                    "Got value {}",
                    filter.entity, filter.value));
  }
  const bool is_meant = filter.view == "trace" ||
                        (filter.view == "span" && view == TraceView::Spans) ||
                        (filter.view == "assessment" && view == TraceView::Assessments);
  if (!is_meant) {
    return refuse(fmt::format("Filtering by {} is only supported for the view of {}s", filter.view,
                              filter.view));
  }
  return filter;
}

Outcome<void> add_samples(const Call& call, const Trace& trace, const SampleQuery& query,
                          std::vector<Sample>& samples) {
  // Costs are of the day on which the span began; all else is of the trace's.
  if ((!is_cost(query) && !is_in(trace.time_ms, query)) ||
      !KEDGE_TRY(passes_trace(call, trace, query.filters))) {
    return {};
  }
  switch (query.view) {
    case TraceView::Traces:
      add_sample(thing_of(trace), query, samples);
      break;
    case TraceView::Spans:
      add_span_samples(KEDGE_TRY(call.state.traces.spans(trace.id)), query, samples);
      break;
    case TraceView::Assessments:
      add_assessments(trace, query, samples);
      break;
  }
  return {};
}

}  // namespace kedge::mlflow
