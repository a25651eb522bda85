// Calls of MLflow's version 3, and the objects of which some of them are made (store/objects.h):
// issues, evaluation datasets, scorers. Nothing here but MLflow's clients gives them a meaning.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "mlflow/internal/call.h"
#include "store/objects.h"

namespace kedge::mlflow {

// `path` is below /api/3.0/mlflow and, the same, /ajax-api/3.0/mlflow.
void read_v3(Calls& calls, server::Method method, std::string_view path, CallHandler handler);
void write_v3(Calls& calls, server::Method method, std::string_view path, CallHandler handler);

Result<std::optional<store::Object>> find_object(const Call& call, std::string_view kind,
                                                 const std::string& id);
Result<std::optional<store::Object>> find_named_object(const Call& call, std::string_view kind,
                                                       const std::string& parent,
                                                       const std::string& name);
// All of the kind when no parent is given.
Result<std::vector<store::Object>> list_objects(const Call& call, std::string_view kind,
                                                const std::optional<std::string>& parent = {});
Result<void> put_object(const Call& call, const store::Object& object);
Result<void> remove_object(const Call& call, std::string_view kind, const std::string& id);
// `missing` is told when there is none. An error of `edit` changes nothing.
Result<store::Object> edit_object(const Call& call, std::string_view kind, const std::string& id,
                                  const std::string& missing,
                                  const std::function<Result<void>(nlohmann::json& body)>& edit);

// A text of an object, for filters; nothing where it is no text.
std::optional<std::string_view> find_text(const nlohmann::json& object, const std::string& name);

// --- the subjects, each in the file of its name
void add_issue_calls(Calls& calls);
void add_evaluation_dataset_calls(Calls& calls);
void add_dataset_record_calls(Calls& calls);
void add_scorer_calls(Calls& calls);
void add_online_scoring_calls(Calls& calls);
void add_assessment_calls(Calls& calls);

}  // namespace kedge::mlflow
