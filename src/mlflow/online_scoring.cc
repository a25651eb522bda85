// How much of what comes a scorer is to score. It is kept with the scorer and shown; kedge runs no
// scorer itself, and says so in its log.
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/log.h"
#include "mlflow/internal/experiments.h"
#include "mlflow/internal/filter.h"
#include "mlflow/internal/python_text.h"
#include "mlflow/internal/scorers.h"

namespace kedge::mlflow {
namespace {

using nlohmann::json;
using server::Method;
using server::Response;
using store::Object;

Outcome<double> read_rate(const Fields& fields) {
  const double rate = KEDGE_TRY(fields.need_number("sample_rate"));
  if (!(rate >= 0 && rate <= 1)) {
    return refuse(
        fmt::format("sample_rate must be between 0.0 and 1.0, got {}", python_float(rate)));
  }
  return rate;
}

Outcome<void> check_judge(Object& scorer) {
  const auto text = versions_of(scorer).back().at("serialized_scorer").get<std::string>();
  json newest = KEDGE_TRY(parse_body(text));
  const json* judge = find_judge(newest);
  if (judge == nullptr || !judge->get<std::string>().starts_with(kGatewayPrefix)) {
    return refuse(
        fmt::format("Scorer '{}' does not use a gateway model. Automatic evaluation is only "
                    "supported for scorers that use gateway models.",
                    scorer.name));
  }
  return {};
}

Outcome<Response> put_online_config(const Call& call) {
  const double rate = KEDGE_TRY(read_rate(call.fields));
  const auto filter = KEDGE_TRY(call.fields.find_text("filter_string"));
  KEDGE_TRY(parse_filter(filter.value_or(""), kTraceLanguage));
  Object scorer = KEDGE_TRY(load_scorer(call));
  if (rate > 0) {
    KEDGE_TRY(check_judge(scorer));
    warn("MLflow's scorer '{}' is to score traces as they come: kedge keeps that and runs none",
         scorer.name);
  }
  json config = {{"online_scoring_config_id", make_id()},
                 {"scorer_id", scorer.id},
                 {"sample_rate", rate},
                 {"experiment_id", scorer.parent}};
  if (filter) {
    config["filter_string"] = *filter;
  }
  KEDGE_TRY(edit_object(call, kScorerKind, scorer.id, "the scorer is gone",
                        [&](json& body) -> Result<void> {
                          body["online"] = config;
                          return {};
                        }));
  return reply({{"config", config}});
}

Outcome<Response> list_online_configs(const Call& call) {
  const auto ids = KEDGE_TRY(call.fields.texts("scorer_ids"));
  if (ids.empty()) {
    return std::unexpected(missing("scorer_ids"));
  }
  json configs = json::array();
  for (const std::string& id : ids) {
    const auto scorer = KEDGE_TRY(find_object(call, kScorerKind, id));
    if (scorer && scorer->body.contains("online") && load_experiment(call, scorer->parent)) {
      configs.push_back(scorer->body.at("online"));
    }
  }
  return reply({{"configs", std::move(configs)}});
}

}  // namespace

void add_online_scoring_calls(Calls& calls) {
  write_v3(calls, Method::Put, "scorers/online-config", put_online_config);
  read_v3(calls, Method::Get, "scorers/online-configs", list_online_configs);
}

}  // namespace kedge::mlflow
