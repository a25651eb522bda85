// Evaluation datasets: named sets of records (inputs, and what is expected of the answers) that
// belong to any number of experiments. Not the datasets of runs (links.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "mlflow/internal/objects.h"

namespace kedge::mlflow {

inline constexpr std::string_view kDatasetKind = "mlflow.dataset";
inline constexpr std::string_view kRecordKind = "mlflow.record";  // its parent is a dataset's id

// A caller confined to one project reads what belongs to it, and writes what belongs to it alone.
enum class Need : std::uint8_t { Read, Write };

// Of the path's dataset_id. `Evaluation dataset with id 'X' not found`
Outcome<store::Object> load_dataset(const Call& call, Need need);
std::string dataset_not_found(const std::string& id);

nlohmann::json render_dataset(const store::Object& dataset);

// A change of a dataset always gives it another digest.
void mark_changed(nlohmann::json& body, std::int64_t now_us);

}  // namespace kedge::mlflow
