#include "mlflow/internal/assessments.h"

#include <algorithm>
#include <sstream>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "mlflow/internal/objects.h"
#include "mlflow/internal/state.h"

namespace kedge::mlflow {
namespace {

using nlohmann::json;
using server::Method;
using server::Response;

json* find_in(json& info, const std::string& id) {
  const auto list = info.find("assessments");
  if (list == info.end()) {
    return nullptr;
  }
  const auto found = std::ranges::find_if(
      *list, [&](const json& assessment) { return assessment.value("assessment_id", "") == id; });
  return found == list->end() ? nullptr : &*found;
}

std::string assessment_not_found(const std::string& id, const std::string& trace) {
  return fmt::format("Assessment with ID '{}' not found for trace '{}'", id, trace);
}

Outcome<std::string> load_id(const Call& call) {
  return KEDGE_TRY(load_trace(call, call.request.parameter("trace_id"))).id;
}

// Lists and objects are kept as a text.
json read_expectation(json expectation) {
  const auto value = expectation.find("value");
  if (value == expectation.end() || !value->is_structured()) {
    return expectation;
  }
  return {{"serialized_value",
           {{"serialization_format", "JSON_FORMAT"}, {"value", server::dump(*value)}}}};
}

Outcome<Fields> need_assessment(const Call& call) {
  auto fields = KEDGE_TRY(call.fields.find_object("assessment"));
  if (!fields) {
    return std::unexpected(missing("assessment"));
  }
  return std::move(*fields);
}

Outcome<Response> create_assessment(const Call& call) {
  const Fields fields = KEDGE_TRY(need_assessment(call));
  const std::string trace = KEDGE_TRY(load_id(call));
  const json made = KEDGE_TRY(read_assessment(fields, trace, to_ms(call.api.now_us())));
  KEDGE_TRY(call.state.traces.edit(trace, [&](json& info) -> Result<void> {
    if (find_in(info, made.at("assessment_id").get<std::string>()) != nullptr) {
      return fail(ErrorKind::Usage, fmt::format("Assessment with ID '{}' is there already",
                                                made.at("assessment_id").get<std::string>()));
    }
    if (made.contains("overrides")) {
      const auto other = made.at("overrides").get<std::string>();
      json* overridden = find_in(info, other);
      if (overridden == nullptr) {
        return fail(ErrorKind::NotFound, assessment_not_found(other, trace));
      }
      (*overridden)["valid"] = false;
    }
    info["assessments"].push_back(made);
    return {};
  }));
  return reply({{"assessment", made}});
}

Outcome<Response> get_assessment(const Call& call) {
  const std::string& id = call.request.parameter("assessment_id");
  Trace trace = KEDGE_TRY(load_trace(call, call.request.parameter("trace_id")));
  const json* found = find_in(trace.info, id);
  if (found == nullptr) {
    return refuse(Code::ResourceDoesNotExist, assessment_not_found(id, trace.id));
  }
  return reply({{"assessment", *found}});
}

// The names of a protobuf field mask, which writes them as assessmentName.
std::vector<std::string> read_mask(const std::string& text) {
  std::vector<std::string> names;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    names.push_back(word == "assessmentName" ? "assessment_name" : word);
  }
  return names;
}

// The parts that a mask names, as they are kept.
Outcome<json> read_assessment_changes(const Call& call) {
  const Fields fields = KEDGE_TRY(need_assessment(call));
  json changes = json::object();
  for (const std::string& name : read_mask(KEDGE_TRY(call.fields.need_text("update_mask")))) {
    if (name == "assessment_name" || name == "rationale") {
      changes[name] = KEDGE_TRY(fields.text(name));
    } else if (name == "valid") {
      changes[name] = KEDGE_TRY(fields.boolean(name, true));
    } else if (name == "feedback" || name == "expectation" || name == "metadata") {
      const auto part = KEDGE_TRY(fields.find_object(name));
      const json object = part ? part->object() : json::object();
      changes[name] = name == "expectation" ? read_expectation(object) : object;
    }
  }
  if (changes.contains("expectation") && changes.contains("feedback")) {
    return refuse("Cannot specify both `expectation` and `feedback` parameters.");
  }
  return changes;
}

Outcome<Response> update_assessment(const Call& call) {
  const std::string& id = call.request.parameter("assessment_id");
  const std::string trace = KEDGE_TRY(load_id(call));
  json changes = KEDGE_TRY(read_assessment_changes(call));
  const json metadata = changes.value("metadata", json::object());
  changes.erase("metadata");
  json updated;
  KEDGE_TRY(call.state.traces.edit(trace, [&](json& info) -> Result<void> {
    json* found = find_in(info, id);
    if (found == nullptr) {
      return fail(ErrorKind::NotFound, assessment_not_found(id, trace));
    }
    if (changes.contains("expectation") && !found->contains("expectation")) {
      return fail(ErrorKind::Usage, "Cannot update expectation value on a Feedback assessment.");
    }
    if (changes.contains("feedback") && !found->contains("feedback")) {
      return fail(ErrorKind::Usage, "Cannot update feedback value on an Expectation assessment.");
    }
    found->update(changes);
    if (!metadata.empty()) {
      (*found)["metadata"].update(metadata);
    }
    (*found)["last_update_time"] = render_time(to_ms(call.api.now_us()));
    updated = *found;
    return {};
  }));
  return reply({{"assessment", updated}});
}

// One that is gone is no error. What it stood for is valid again.
Outcome<Response> remove_assessment(const Call& call) {
  const std::string& id = call.request.parameter("assessment_id");
  const std::string trace = KEDGE_TRY(load_id(call));
  KEDGE_TRY(call.state.traces.edit(trace, [&](json& info) -> Result<void> {
    const json* found = find_in(info, id);
    if (found == nullptr) {
      return {};
    }
    if (json* other = find_in(info, found->value("overrides", "")); other != nullptr) {
      (*other)["valid"] = true;
    }
    std::erase_if(info["assessments"].get_ref<json::array_t&>(),
                  [&](const json& assessment) { return assessment.at("assessment_id") == id; });
    return {};
  }));
  return reply_empty();
}

}  // namespace

Outcome<json> read_assessment(const Fields& fields, const std::string& trace_id,
                              std::int64_t now_ms) {
  const std::string now = render_time(now_ms);
  json made = {{"assessment_name", KEDGE_TRY(fields.need_text("assessment_name"))},
               {"trace_id", trace_id},
               {"valid", KEDGE_TRY(fields.boolean("valid", true))}};
  for (const char* name :
       {"assessment_id", "span_id", "rationale", "overrides", "create_time", "last_update_time"}) {
    if (const std::string text = KEDGE_TRY(fields.text(name)); !text.empty()) {
      made[name] = text;
    }
  }
  made.emplace("assessment_id", "a-" + make_id());
  made.emplace("create_time", now);
  made.emplace("last_update_time", now);
  bool has_value = false;
  for (const char* name : {"source", "metadata", "feedback", "expectation", "issue"}) {
    const auto part = KEDGE_TRY(fields.find_object(name));
    if (!part) {
      continue;
    }
    const std::string_view what = name;
    has_value = has_value || (what != "source" && what != "metadata");
    made[name] = what == "expectation" ? read_expectation(part->object()) : part->object();
  }
  if (!has_value) {
    return refuse("Assessment must have either feedback, expectation, or issue value");
  }
  return made;
}

void add_assessment_calls(Calls& calls) {
  write_v3(calls, Method::Post, "traces/{trace_id}/assessments", create_assessment);
  read_v3(calls, Method::Get, "traces/{trace_id}/assessments/{assessment_id}", get_assessment);
  write_v3(calls, Method::Patch, "traces/{trace_id}/assessments/{assessment_id}",
           update_assessment);
  write_v3(calls, Method::Delete, "traces/{trace_id}/assessments/{assessment_id}",
           remove_assessment);
}

}  // namespace kedge::mlflow
