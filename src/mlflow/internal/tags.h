// Tags and parameters as they come in: checked, cut to MLflow's lengths, and made a change of a
// run.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "mlflow/internal/fields.h"
#include "store/run.h"

namespace kedge::mlflow {

// A list of {key, value} of this name; later ones of a key stand for earlier ones.
Outcome<KeyValues> read_tags(const Fields& fields, std::string_view name);
// The same for parameters; two of one key are refused.
Outcome<KeyValues> read_params(const Fields& fields, std::string_view name);

// Which messages are told when a parameter has another value already.
enum class ParamCall : std::uint8_t { One, Batch };

// The change that logs these parameters to a run: what is there already must be the same.
Outcome<nlohmann::json> params_patch(const store::Run& run, const KeyValues& params,
                                     ParamCall call);

}  // namespace kedge::mlflow
