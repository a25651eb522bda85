// Values as Python writes them. MLflow's parameters are texts made by Python's str(); a run's
// config has types. A text becomes a number or a truth value exactly when str() of it gives that
// text back, so `lr` is one column whoever logged it, and nothing changes on the way there and
// back.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace kedge::mlflow {

std::string python_float(double value);          // repr(): "0.1", "1e-05", "1e+16", "nan"
std::string python_text(std::string_view text);  // repr(): 'it is', "it's"
std::string python_list(const std::vector<std::string>& texts);  // ['a', 'b']

nlohmann::json parse_param(std::string_view text);
std::string render_param(const nlohmann::json& value);

}  // namespace kedge::mlflow
