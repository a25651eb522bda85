#include "mlflow/internal/tags.h"

#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "core/redact.h"
#include "mlflow/internal/call.h"
#include "mlflow/internal/names.h"
#include "mlflow/internal/python_text.h"
#include "mlflow/internal/runs.h"

namespace kedge::mlflow {
namespace {

using http::Method;
using http::Response;

// "a.b" as it stands, or b in a.
const nlohmann::json* find_param(const nlohmann::json& config, std::string_view key) {
  if (const auto found = config.find(key); found != config.end()) {
    return &*found;
  }
  for (auto dot = key.find('.'); dot != std::string_view::npos; dot = key.find('.', dot + 1)) {
    const auto outer = config.find(key.substr(0, dot));
    if (outer != config.end() && outer->is_object()) {
      if (const nlohmann::json* inner = find_param(*outer, key.substr(dot + 1))) {
        return inner;
      }
    }
  }
  return nullptr;
}

struct Changed {
  std::string key;
  std::string before;
  std::string after;
};

Fault cannot_change(const store::Run& run, const std::vector<Changed>& changes, ParamCall call) {
  const std::string& id = run.facts.id;
  if (call == ParamCall::One) {
    const Changed& change = changes.front();
    return {Code::InvalidParameterValue,
            fmt::format("Changing param values is not allowed. Param with key='{}' was already "
                        "logged with value='{}' for run ID='{}'. Attempted logging new value '{}'.",
                        change.key, change.before, id, change.after)};
  }
  std::vector<std::string> shown;
  for (const Changed& change : changes) {
    shown.push_back(fmt::format("{{'key': {}, 'old_value': {}, 'new_value': {}}}",
                                python_text(change.key), python_text(change.before),
                                python_text(change.after)));
  }
  return {Code::InvalidParameterValue,
          fmt::format("Changing param values is not allowed. Params were already logged='[{}]' for "
                      "run ID='{}'.",
                      fmt::join(shown, ", "), id)};
}

Outcome<Response> set_one(const Call& call) {
  const std::string id = KEDGE_TRY(call.fields.need_run_id());
  const std::string key = KEDGE_TRY(call.fields.need_text("key"));
  const std::string value = KEDGE_TRY(call.fields.text("value"));
  KEDGE_TRY(check_key(key, "key"));
  KEDGE_TRY(check_length(key, kMaxKey, "key"));
  const LoadedRun run = KEDGE_TRY(load_active_run(call, id));
  store::RunPatch patch;
  set_tag(patch, key, cut(value, kMaxTagValue));
  KEDGE_TRY(call.api.store.patch_run(run.key, patch, call.api.now_us()));
  return reply_empty();
}

Outcome<Response> delete_one(const Call& call) {
  const std::string id = KEDGE_TRY(call.fields.need_run_id());
  const std::string key = KEDGE_TRY(call.fields.need_text("key"));
  const LoadedRun run = KEDGE_TRY(load_active_run(call, id));
  KEDGE_TRY(call.api.store.edit_run(
      run.key,
      [&](const store::Run& found) -> Result<store::RunPatch> {
        if (!found.labels.contains(key) && !fact_tag(found.facts, key)) {
          return fail(ErrorKind::NotFound,
                      fmt::format("No tag with name: {} in run with id {}", key, id));
        }
        store::RunPatch patch;
        remove_tag(patch, key);
        return patch;
      },
      call.api.now_us()));
  return reply_empty();
}

// The list of models in a tag, which clients of version 1 and 2 read.
Outcome<Response> log_model(const Call& call) {
  constexpr const char* kHistory = "mlflow.log-model.history";
  const std::string id = KEDGE_TRY(call.fields.need_run_id());
  const std::string text = KEDGE_TRY(call.fields.need_text("model_json"));
  const auto model = nlohmann::json::parse(text, nullptr, false);
  if (model.is_discarded()) {
    return refuse(fmt::format("Malformed model info. \n {} \n is not valid JSON.", text));
  }
  const std::vector<std::string> needed = {"artifact_path", "flavors", "utc_time_created",
                                           "run_id"};
  std::vector<std::string> missing_fields;
  for (const std::string& field : needed) {
    if (!model.is_object() || !model.contains(field)) {
      missing_fields.push_back(field);
    }
  }
  if (!missing_fields.empty()) {
    return refuse(
        fmt::format("Model json is missing mandatory fields: {}", python_list(missing_fields)));
  }
  const LoadedRun run = KEDGE_TRY(load_active_run(call, id));
  KEDGE_TRY(call.api.store.edit_run(
      run.key,
      [&](const store::Run& found) -> Result<store::RunPatch> {
        auto history = nlohmann::json::parse(found.labels.value(kHistory, "[]"), nullptr, false);
        if (!history.is_array()) {
          history = nlohmann::json::array();
        }
        history.push_back(model);
        return store::RunPatch{.labels = {{kHistory, server::dump(history)}}};
      },
      call.api.now_us()));
  return reply_empty();
}

}  // namespace

Outcome<KeyValues> read_tags(const Fields& fields, std::string_view name) {
  KeyValues tags = KEDGE_TRY(fields.key_values(name));
  for (std::size_t i = 0; i < tags.size(); ++i) {
    const std::string path = fmt::format("{}[{}].key", name, i);
    KEDGE_TRY(check_key(tags[i].first, path));
    KEDGE_TRY(check_length(tags[i].first, kMaxKey, path));
    tags[i].second = cut(tags[i].second, kMaxTagValue);
  }
  return tags;
}

Outcome<KeyValues> read_params(const Fields& fields, std::string_view name) {
  KeyValues params = KEDGE_TRY(fields.key_values(name));
  std::set<std::string_view> seen;
  std::vector<std::string> doubled;
  for (std::size_t i = 0; i < params.size(); ++i) {
    const std::string path = fmt::format("{}[{}].key", name, i);
    KEDGE_TRY(check_key(params[i].first, path));
    KEDGE_TRY(check_length(params[i].first, kMaxKey, path));
    params[i].second = cut(params[i].second, kMaxParamValue);
    if (!seen.insert(params[i].first).second) {
      doubled.push_back(params[i].first);
    }
  }
  if (!doubled.empty()) {
    return refuse(
        fmt::format("Duplicate parameter keys have been submitted: {}. Please ensure the "
                    "request contains only one param value per param key.",
                    python_list(doubled)));
  }
  return params;
}

Outcome<nlohmann::json> params_patch(const store::Run& run, const KeyValues& params,
                                     ParamCall call) {
  nlohmann::json patch = nlohmann::json::object();
  std::vector<Changed> changes;
  for (const auto& [key, value] : params) {
    const nlohmann::json* before = run.config.is_object() ? find_param(run.config, key) : nullptr;
    nlohmann::json kept = {{key, value}};
    redact_values(kept);  // as the store does: a secret that is logged again has not changed
    if (before == nullptr) {
      patch[key] = parse_param(value);
    } else if (render_param(*before) != kept[key].get_ref<const std::string&>()) {
      changes.push_back({.key = key, .before = render_param(*before), .after = value});
    }
  }
  if (!changes.empty()) {
    return std::unexpected(cannot_change(run, changes, call));
  }
  return patch;
}

void add_tag_calls(Calls& calls) {
  calls.write(Method::Post, "runs/set-tag", set_one);
  calls.write(Method::Post, "runs/delete-tag", delete_one);
  calls.write(Method::Post, "runs/log-model", log_model);
}

}  // namespace kedge::mlflow
