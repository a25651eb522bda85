#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "mlflow/internal/experiments.h"
#include "mlflow/internal/filter.h"
#include "mlflow/internal/objects.h"
#include "mlflow/internal/state.h"

namespace kedge::mlflow {
namespace {

using nlohmann::json;
using server::Method;
using server::Response;
using store::Object;

constexpr std::string_view kKind = "mlflow.issue";
constexpr std::int64_t kUsualIssues = 100;
constexpr std::int64_t kMostIssues = 50'000;

constexpr auto kIssueStatuses =
    std::to_array<std::string_view>({"pending", "rejected", "resolved"});
// The worst last.
constexpr auto kSeverities =
    std::to_array<std::string_view>({"not_an_issue", "low", "medium", "high"});

constexpr auto kIssueEntities = std::to_array<EntityName>({{"attribute", Entity::Attribute}});
constexpr auto kIssueAttributes = std::to_array<AttributeRule>({
    {.name = "source_run_id", .meaning = "source_run_id"},
    {.name = "status", .meaning = "status"},
});
constexpr Language kIssueLanguage = {
    .entities = kIssueEntities,
    .entity_hint = "Valid entity types are ('attribute')",
    .attributes = kIssueAttributes,
    .list_keys = "[]",
    .is_quoting_clauses = false,
    .has_params_null = false,
    .has_tags_null = false,
};

std::string issue_not_found(const std::string& id) {
  return fmt::format("Issue with ID '{}' not found", id);
}

Outcome<Object> load_issue(const Call& call) {
  const std::string& id = call.request.parameter("issue_id");
  auto issue = KEDGE_TRY(find_object(call, kKind, id));
  if (!issue) {
    return refuse(Code::ResourceDoesNotExist, issue_not_found(id));
  }
  KEDGE_TRY(load_experiment(call, issue->parent));
  return std::move(*issue);
}

// One of these words, or nothing where the field is not there.
template <std::size_t N>
Outcome<std::optional<std::string>> read_word(const Call& call, const char* field,
                                              const std::array<std::string_view, N>& words,
                                              std::string_view type) {
  auto word = KEDGE_TRY(call.fields.find_text(field));
  if (word && std::ranges::find(words, std::string_view(*word)) == words.end()) {
    return refuse(fmt::format("'{}' is not a valid {}", *word, type));
  }
  return word;
}

// What both calls may give.
Outcome<json> read_issue_changes(const Call& call) {
  json changes = json::object();
  for (const char* field : {"name", "description"}) {
    if (const auto text = KEDGE_TRY(call.fields.find_text(field)); text && !text->empty()) {
      changes[field] = *text;
    }
  }
  if (const auto status = KEDGE_TRY(read_word(call, "status", kIssueStatuses, "IssueStatus"))) {
    changes["status"] = *status;
  }
  if (const auto word = KEDGE_TRY(read_word(call, "severity", kSeverities, "IssueSeverity"))) {
    changes["severity"] = *word;
  }
  return changes;
}

Outcome<Response> create_issue(const Call& call) {
  KEDGE_TRY(call.fields.need_text("name"));
  KEDGE_TRY(call.fields.need_text("description"));
  const auto project = KEDGE_TRY(load_experiment(call));
  KEDGE_TRY(check_active(project));
  const std::int64_t now_us = call.api.now_us();
  Object issue{.kind = std::string(kKind),
               .id = "iss-" + make_id(),
               .project = project.id,
               .parent = std::to_string(project.id),
               .created_us = now_us,
               .body = KEDGE_TRY(read_issue_changes(call))};
  issue.body["issue_id"] = issue.id;
  issue.body["experiment_id"] = issue.parent;
  issue.body.emplace("status", "pending");
  issue.body["created_timestamp"] = to_ms(now_us);
  issue.body["last_updated_timestamp"] = to_ms(now_us);
  for (const char* field : {"source_run_id", "created_by"}) {
    if (const std::string text = KEDGE_TRY(call.fields.text(field)); !text.empty()) {
      issue.body[field] = text;
    }
  }
  for (const char* field : {"root_causes", "categories"}) {
    if (const auto texts = KEDGE_TRY(call.fields.texts(field)); !texts.empty()) {
      issue.body[field] = texts;
    }
  }
  KEDGE_TRY(put_object(call, issue));
  return reply({{"issue", issue.body}});
}

Outcome<Response> get_issue(const Call& call) {
  return reply({{"issue", KEDGE_TRY(load_issue(call)).body}});
}

Outcome<Response> update_issue(const Call& call) {
  const std::string id = KEDGE_TRY(load_issue(call)).id;
  const json changes = KEDGE_TRY(read_issue_changes(call));
  const Object issue =
      KEDGE_TRY(edit_object(call, kKind, id, issue_not_found(id), [&](json& body) -> Result<void> {
        body.update(changes);
        body["last_updated_timestamp"] = to_ms(call.api.now_us());
        return {};
      }));
  return reply({{"issue", issue.body}});
}

bool matches_issue(const Clause& clause, const json& body) {
  return matches_text(clause, find_text(body, clause.key));
}

std::ptrdiff_t severity_rank(const json& body) {
  const auto found = std::ranges::find(kSeverities, std::string_view(body.value("severity", "")));
  return found == kSeverities.end() ? -1 : found - kSeverities.begin();
}

// How many traces of these experiments have an assessment that names an issue, by its id.
Outcome<std::map<std::string, int>> count_traces(const Call& call,
                                                 const std::set<std::string>& experiments) {
  std::map<std::string, int> counts;
  for (const std::string& experiment : experiments) {
    for (const Trace& trace :
         KEDGE_TRY(call.state.traces.list(parse_integer(experiment).value_or(0)))) {
      std::set<std::string> named;
      for (const json& assessment : trace.info.value("assessments", json::array())) {
        if (assessment.contains("issue")) {
          named.insert(assessment.value("assessment_name", ""));
        }
      }
      for (const std::string& id : named) {
        ++counts[id];
      }
    }
  }
  return counts;
}

// Those that a search asks for, of those that the caller may see.
Outcome<std::vector<Object>> find_issues(const Call& call) {
  const std::string experiment = KEDGE_TRY(call.fields.text("experiment_id"));
  const auto clauses =
      KEDGE_TRY(parse_filter(KEDGE_TRY(call.fields.text("filter_string")), kIssueLanguage));
  for (const Clause& clause : clauses) {
    if (clause.comparator != Comparator::Equal && clause.comparator != Comparator::NotEqual) {
      return refuse("Invalid comparator. Supported comparators: {'=', '!='}");
    }
  }
  auto issues = KEDGE_TRY(
      list_objects(call, kKind, experiment.empty() ? std::nullopt : std::optional(experiment)));
  std::erase_if(issues, [&](const Object& issue) {
    return !load_experiment(call, issue.parent) ||
           !std::ranges::all_of(
               clauses, [&](const Clause& clause) { return matches_issue(clause, issue.body); });
  });
  return issues;
}

Outcome<Response> search_issues(const Call& call) {
  const Page page = KEDGE_TRY(read_page(call.fields, kUsualIssues, kMostIssues));
  auto issues = KEDGE_TRY(find_issues(call));
  if (KEDGE_TRY(call.fields.boolean("include_trace_count", false))) {
    std::set<std::string> experiments;
    for (const Object& issue : issues) {
      experiments.insert(issue.parent);
    }
    auto counts = KEDGE_TRY(count_traces(call, experiments));
    for (Object& issue : issues) {
      issue.body["trace_count"] = counts[issue.id];
    }
  }
  const auto sort_key = [](const Object& issue) {
    return std::tuple(severity_rank(issue.body), issue.body.value("trace_count", 0),
                      issue.created_us, issue.id);
  };
  std::ranges::sort(issues, std::greater<>(), sort_key);  // the worst and newest first
  json body = {{"next_page_token", ""}};
  add_page(body, "issues", page, issues.size(),
           [&](std::size_t i) { return std::move(issues[i].body); });
  return reply(body);
}

}  // namespace

void add_issue_calls(Calls& calls) {
  write_v3(calls, Method::Post, "issues", create_issue);
  read_v3(calls, Method::Post, "issues/search", search_issues);
  read_v3(calls, Method::Get, "issues/{issue_id}", get_issue);
  write_v3(calls, Method::Patch, "issues/{issue_id}", update_issue);
}

}  // namespace kedge::mlflow
