// What this server does not have: MLflow's GenAI half, which is refused by name, and whatever no
// other file has taken.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/log.h"
#include "mlflow/internal/call.h"

namespace kedge::mlflow {
namespace {

using http::Method;
using http::Response;

constexpr auto kRoots = std::to_array<std::string_view>(
    {"/api/2.0/mlflow", "/api/3.0/mlflow", "/ajax-api/2.0/mlflow", "/ajax-api/3.0/mlflow"});

struct GenAiPart {
  std::string_view prefix;  // of paths, without one of the roots
  std::string_view kind;    // many of them
};

constexpr auto kGenAiParts = std::to_array<GenAiPart>({
    {"/traces", "traces"},
    {"/v1/traces", "traces"},
    {"/unified-traces", "traces"},
    {"/get-trace-artifact", "traces"},
    {"/get-online-trace-details", "traces"},
    {"/datasets", "evaluation datasets"},
    {"/genai", "evaluations"},
    {"/gateway", "endpoints and their secrets"},
    {"/gateway-proxy", "endpoints and their secrets"},
    {"/issues", "issues"},
    {"/label-schemas", "label schemas"},
    {"/review-queues", "review queues"},
    {"/scorer", "scorers"},
    {"/scorers", "scorers"},
    {"/runs/create-promptlab-run", "prompts that were tried"},
    {"/prompt-optimization", "prompt optimizations"},
});

bool is_below(std::string_view path, std::string_view prefix) {
  return path.starts_with(prefix) && (path.size() == prefix.size() || path[prefix.size()] == '/');
}

// Empty for what is no part of the GenAI half.
std::string_view find_genai_kind(std::string_view path) {
  const auto root = std::ranges::find_if(
      kRoots, [&](std::string_view candidate) { return is_below(path, candidate); });
  if (root != kRoots.end()) {
    path.remove_prefix(root->size());
  }
  const auto part = std::ranges::find_if(
      kGenAiParts, [&](const GenAiPart& candidate) { return is_below(path, candidate.prefix); });
  return part == kGenAiParts.end() ? std::string_view() : part->kind;
}

Outcome<Response> refuse_absent(const Call& call) {
  if (const auto kind = find_genai_kind(call.request.path); !kind.empty()) {
    return refuse(Code::NotImplemented,
                  fmt::format("kedge tracks trainings: {} are not kept here", kind));
  }
  const std::string what =
      fmt::format("{} {}", http::name_of(call.request.method), call.request.path);
  warn("an MLflow client asks for {}, which this server does not have", what);
  return refuse(Code::EndpointNotFound,
                fmt::format("This server does not support {}. docs/reference/mlflow.md lists the "
                            "calls it has.",
                            what));
}

}  // namespace

void add_absent_calls(Calls& calls) {
  http::RouteOptions for_rest = read_options();
  for_rest.role = http::Role::None;
  for_rest.is_for_rest = true;
  calls.add_raw(Method::Post, "/v1/traces", for_rest, refuse_absent);
  calls.add_raw(Method::Post, "/gateway/{rest...}", for_rest, refuse_absent);
  for (const std::string prefix : {"/api", "/ajax-api"}) {
    for (const std::string group : {"/2.0/mlflow", "/3.0/mlflow", "/2.0/mlflow-artifacts"}) {
      for (const Method method :
           {Method::Get, Method::Post, Method::Put, Method::Patch, Method::Delete}) {
        calls.add_raw(method, prefix + group + "/{rest...}", for_rest, refuse_absent);
      }
    }
  }
}

}  // namespace kedge::mlflow
