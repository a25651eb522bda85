#include "mlflow/internal/logged_model_search.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "mlflow/internal/experiments.h"
#include "mlflow/internal/listed.h"
#include "mlflow/internal/logged_models.h"
#include "mlflow/internal/page_token.h"
#include "mlflow/internal/state.h"

namespace kedge::mlflow {
namespace {

constexpr std::int64_t kUsualLoggedModels = 50;
constexpr std::int64_t kMostLoggedModels = 50'000;

struct Candidate {
  LoggedModel model;
  std::vector<ModelMetric> metrics;
};

struct DatasetName {
  std::string name;
  std::string digest;  // empty: any

  bool is_of(const ModelMetric& metric) const {
    return (name.empty() || metric.dataset_name == name) &&
           (digest.empty() || metric.dataset_digest == digest);
  }
};

struct ModelSorting {
  OrderTerm term = {};
  DatasetName dataset = {};
};

Listed attribute_value(const LoggedModel& model, const std::string& key) {
  return key == "name"                 ? Listed(model.name)
         : key == "model_id"           ? Listed(model.id)
         : key == "model_type"         ? Listed(model.type)
         : key == "source_run_id"      ? Listed(model.source_run)
         : key == "experiment_id"      ? Listed(std::to_string(model.project))
         : key == "status"             ? Listed(std::to_string(static_cast<int>(model.status)))
         : key == "creation_timestamp" ? time_of(model.created_us)
                                       : time_of(model.changed_us);
}

bool matches_candidate(const Candidate& candidate, const Clause& clause) {
  if (clause.entity == Entity::Metric) {
    return std::ranges::any_of(candidate.metrics, [&](const ModelMetric& metric) {
      return metric.key == clause.key && passes(clause, metric.value);
    });
  }
  const LoggedModel& model = candidate.model;
  return passes(clause, clause.entity == Entity::Parameter ? text_in(model.params, clause.key)
                        : clause.entity == Entity::Tag     ? text_in(model.tags, clause.key)
                                                           : attribute_value(model, clause.key));
}

Listed latest(const Candidate& candidate, const ModelSorting& sorting) {
  const ModelMetric* newest = nullptr;
  for (const ModelMetric& metric : candidate.metrics) {
    if (metric.key != sorting.term.key || !sorting.dataset.is_of(metric)) {
      continue;
    }
    if (newest == nullptr ||
        std::tuple(metric.time_ms, metric.step) >= std::tuple(newest->time_ms, newest->step)) {
      newest = &metric;
    }
  }
  return newest == nullptr ? Listed() : newest->value;
}

int compare_candidates(const Candidate& a, const Candidate& b, const ModelSorting& sorting) {
  const OrderTerm& term = sorting.term;
  return term.entity == Entity::Metric
             ? compare_listed(latest(a, sorting), latest(b, sorting), term.is_ascending)
             : compare_listed(attribute_value(a.model, term.key),
                              attribute_value(b.model, term.key), term.is_ascending);
}

Outcome<std::vector<ModelSorting>> read_model_order(const Fields& fields) {
  std::vector<ModelSorting> order;
  for (const Fields& entry : KEDGE_TRY(fields.items("order_by"))) {
    const std::string name = KEDGE_TRY(entry.need_text("field_name"));
    ModelSorting sorting;
    if (name.starts_with("metrics.")) {
      sorting.term = {.entity = Entity::Metric, .key = name.substr(8)};
    } else {
      sorting.term = KEDGE_TRY(parse_order(name, kLoggedModelLanguage));
    }
    sorting.term.is_ascending = KEDGE_TRY(entry.boolean("ascending", true));
    sorting.dataset = {.name = KEDGE_TRY(entry.text("dataset_name")),
                       .digest = KEDGE_TRY(entry.text("dataset_digest"))};
    order.push_back(std::move(sorting));
  }
  order.push_back({.term = {.key = "creation_timestamp", .is_ascending = false}});
  order.push_back({.term = {.key = "model_id"}});
  return order;
}

Outcome<std::vector<DatasetName>> read_datasets(const Fields& fields) {
  std::vector<DatasetName> datasets;
  for (const Fields& entry : KEDGE_TRY(fields.items("datasets"))) {
    datasets.push_back({.name = KEDGE_TRY(entry.need_text("dataset_name")),
                        .digest = KEDGE_TRY(entry.text("dataset_digest"))});
  }
  return datasets;
}

Outcome<std::vector<Candidate>> find_candidates(const Call& call,
                                                const std::vector<std::string>& experiments) {
  std::vector<Candidate> candidates;
  for (const std::string& id : experiments) {
    const auto project = load_experiment(call, id);
    if (!project && project.error().code == Code::ResourceDoesNotExist) {
      continue;
    }
    if (!project) {
      return std::unexpected(project.error());
    }
    for (LoggedModel& model : KEDGE_TRY(call.state.logged_models.list(project->id))) {
      auto metrics = KEDGE_TRY(call.state.logged_models.metrics(model.id));
      candidates.push_back({std::move(model), std::move(metrics)});
    }
  }
  return candidates;
}

}  // namespace

Outcome<http::Response> search_logged_models(const Call& call) {
  const auto experiments = KEDGE_TRY(call.fields.texts("experiment_ids"));
  if (experiments.empty()) {
    return std::unexpected(missing("experiment_ids"));
  }
  const Page page = KEDGE_TRY(read_page(call.fields, kUsualLoggedModels, kMostLoggedModels));
  const auto clauses =
      KEDGE_TRY(parse_filter(KEDGE_TRY(call.fields.text("filter")), kLoggedModelLanguage));
  const auto order = KEDGE_TRY(read_model_order(call.fields));
  const auto datasets = KEDGE_TRY(read_datasets(call.fields));
  auto candidates = KEDGE_TRY(find_candidates(call, experiments));
  std::erase_if(candidates, [&](const Candidate& candidate) {
    const bool has_data =
        datasets.empty() || std::ranges::any_of(candidate.metrics, [&](const ModelMetric& metric) {
          return std::ranges::any_of(
              datasets, [&](const DatasetName& dataset) { return dataset.is_of(metric); });
        });
    return !has_data || !std::ranges::all_of(clauses, [&](const Clause& clause) {
      return matches_candidate(candidate, clause);
    });
  });
  std::ranges::stable_sort(candidates, [&](const Candidate& a, const Candidate& b) {
    for (const ModelSorting& sorting : order) {
      if (const int found = compare_candidates(a, b, sorting); found != 0) {
        return found < 0;
      }
    }
    return false;
  });
  nlohmann::json body = nlohmann::json::object();
  const std::size_t end = std::min(candidates.size(), page.offset + page.limit);
  for (std::size_t i = page.offset; i < end; ++i) {
    body["models"].push_back(KEDGE_TRY(render_logged_model(call, candidates[i].model)));
  }
  if (end < candidates.size()) {
    body["next_page_token"] = make_page_token(end);
  }
  return reply(body);
}

}  // namespace kedge::mlflow
