#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "mlflow/internal/asked_calls.h"
#include "mlflow/internal/call.h"
#include "mlflow/internal/experiments.h"
#include "mlflow/internal/filter.h"
#include "mlflow/internal/page_token.h"
#include "mlflow/internal/python_text.h"
#include "mlflow/internal/run_query.h"
#include "mlflow/internal/runs.h"
#include "mlflow/internal/state.h"

namespace kedge::mlflow {
namespace {

using http::Method;
using http::Response;

constexpr std::int64_t kUsualFoundRuns = 1000;
constexpr std::int64_t kMostFoundRuns = 50'000;

using Projects = std::map<std::string, store::Project>;
using Ids = std::set<std::string, std::less<>>;

// Ids of experiments that are not there find nothing, as in MLflow.
Outcome<Projects> read_projects(const Call& call) {
  Projects projects;
  for (const std::string& id : KEDGE_TRY(call.fields.texts("experiment_ids"))) {
    auto project = load_experiment(call, id);
    if (project) {
      projects.emplace(project->name, std::move(*project));
    } else if (project.error().code != Code::ResourceDoesNotExist) {
      return std::unexpected(project.error());
    }
  }
  return projects;
}

Outcome<std::vector<OrderTerm>> read_run_order(const Fields& fields) {
  std::vector<OrderTerm> terms;
  std::vector<std::string> doubled;
  for (const std::string& text : KEDGE_TRY(fields.texts("order_by"))) {
    OrderTerm term = KEDGE_TRY(parse_order(text, kRunLanguage));
    if (std::ranges::any_of(terms, [&](const OrderTerm& other) {
          return other.entity == term.entity && other.key == term.key;
        })) {
      doubled.push_back(text);
    }
    terms.push_back(std::move(term));
  }
  if (!doubled.empty()) {
    return refuse(fmt::format("`order_by` contains duplicate fields: {}", python_list(doubled)));
  }
  return terms;
}

bool has_dataset(const store::RunLinks& links, const Clause& clause) {
  return std::ranges::any_of(links.datasets, [&](const store::DatasetInput& input) {
    if (clause.key == "name") {
      return matches_text(clause, input.dataset.name);
    }
    if (clause.key == "digest") {
      return matches_text(clause, input.dataset.digest);
    }
    return std::ranges::any_of(input.tags, [&](const auto& tag) {
      return tag.first == "mlflow.data.context" && matches_text(clause, tag.second);
    });
  });
}

// The runs that have the datasets asked for; nothing: none is asked for.
Outcome<std::shared_ptr<const Ids>> read_dataset_runs(const Call& call, const Projects& projects,
                                                      std::vector<Clause>& clauses) {
  std::vector<Clause> asked;
  std::erase_if(clauses, [&](const Clause& clause) {
    if (clause.entity == Entity::Dataset) {
      asked.push_back(clause);
    }
    return clause.entity == Entity::Dataset;
  });
  if (asked.empty()) {
    return nullptr;
  }
  auto ids = std::make_shared<Ids>();
  for (const std::string& id : call.state.links.runs()) {
    for (const store::RunKey& key : call.api.store.find_runs(id)) {
      if (!projects.contains(key.project)) {
        continue;
      }
      const store::RunLinks links = KEDGE_TRY(call.state.links.find(key));
      if (std::ranges::all_of(asked,
                              [&](const Clause& clause) { return has_dataset(links, clause); })) {
        ids->insert(id);
      }
    }
  }
  return ids;
}

Outcome<RunQuery> read_run_query(const Call& call, const Projects& projects) {
  RunQuery query;
  query.clauses = KEDGE_TRY(parse_filter(KEDGE_TRY(call.fields.text("filter")), kRunLanguage));
  query.order = KEDGE_TRY(read_run_order(call.fields));
  query.only = KEDGE_TRY(read_dataset_runs(call, projects, query.clauses));
  if (const std::string& run = call.request.caller.run; !run.empty()) {
    const bool is_in = !query.only || query.only->contains(run);
    query.only = std::make_shared<Ids>(is_in ? Ids{run} : Ids{});
  }
  auto locations = std::make_shared<std::map<std::string, std::string, std::less<>>>();
  for (const auto& [name, project] : projects) {
    const std::string uri = artifact_uri(project, "");
    locations->emplace(name, uri.substr(0, uri.size() - std::string_view("/artifacts").size()));
  }
  query.locations = std::move(locations);
  return query;
}

}  // namespace

Outcome<http::Response> search_runs(const Call& call) {
  const Page page = KEDGE_TRY(read_page(call.fields, kUsualFoundRuns, kMostFoundRuns));
  const int view = KEDGE_TRY(call.fields.enumerated("run_view_type", kLifecycleViews, 1));
  const Projects projects = KEDGE_TRY(read_projects(call));
  const RunQuery query = KEDGE_TRY(read_run_query(call, projects));
  if (projects.empty()) {
    return reply_empty();
  }
  store::Search search;
  for (const auto& [name, project] : projects) {
    search.projects.push_back(name);
  }
  search.limit = page.limit;
  search.offset = page.offset;
  search.shown = view == 1   ? store::Shown::Active
                 : view == 2 ? store::Shown::Trash
                             : store::Shown::All;
  search.plan = [&query](const store::QueryKeys& keys) { return compile_query(query, keys); };
  std::string out = "{\"runs\":[";
  Outcome<void> done;
  const std::size_t total =
      KEDGE_TRY(call.api.store.scan(search, call.api.now_us(), [&](const store::FoundRun& run) {
        const auto project = projects.find(run.facts().project);
        if (!done || project == projects.end()) {
          return;
        }
        out += out.back() == '[' ? "" : ",";
        done = append_run(out, run, project->second, call.state.links);
      }));
  KEDGE_TRY(std::move(done));
  if (out.back() == '[') {
    return reply_empty();
  }
  out += ']';
  if (page.offset + page.limit < total) {
    out += fmt::format(",\"next_page_token\":\"{}\"", make_page_token(page.offset + page.limit));
  }
  return reply_text(out + "}");
}

void add_search_calls(Calls& calls) {
  calls.read(Method::Post, "runs/search", search_runs);
}

}  // namespace kedge::mlflow
