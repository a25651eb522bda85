#include "sweep/trial_table.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/file.h"
#include "core/result.h"
#include "exchange/csv_reader.h"
#include "exchange/table.h"
#include "search/space.h"
#include "search/sweep_plan.h"
#include "search/trial.h"
#include "sweep/sweep.h"
#include "sweep/trial_files.h"

namespace kedge::sweep {
namespace {

nlohmann::json cell_value(const exchange::CsvCell& cell) {
  if (cell.is_quoted) {
    return cell.text;
  }
  if (cell.text == "True" || cell.text == "False") {  // as Python writes them
    return cell.text == "True";
  }
  auto json = nlohmann::json::parse(cell.text, nullptr, false);
  return json.is_number() || json.is_boolean() ? json : nlohmann::json(cell.text);
}

bool has_metric(const TrialView& view) {
  const bool counts = view.trial.state == search::TrialState::Paused ||
                      (view.result && view.trial.state != search::TrialState::Failed);
  return counts && view.trial.metric && std::isfinite(*view.trial.metric);
}

std::string text_of(const nlohmann::json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace

Result<search::SweepPlan> parse_trial_table(const std::string& csv, const std::string& where) {
  exchange::CsvReader reader(csv);
  const auto header = KEDGE_TRY(reader.next());
  if (!header) {
    return fail(ErrorKind::Usage, where + ": the table is empty",
                "the first line names the keys, each further line is a trial");
  }
  std::set<std::string> keys;
  for (const exchange::CsvCell& cell : *header) {
    if (cell.text.empty() || !keys.insert(cell.text).second) {
      return fail(ErrorKind::Usage,
                  fmt::format("{}:1: column '{}' is empty or given twice", where, cell.text));
    }
  }
  search::SweepPlan plan;
  plan.method = "list";
  for (;;) {
    const auto row = KEDGE_TRY(reader.next());
    if (!row) {
      break;
    }
    if (row->size() > header->size()) {
      return fail(ErrorKind::Usage, fmt::format("{}:{}: {} cells under {} columns", where,
                                                reader.line(), row->size(), header->size()));
    }
    nlohmann::json values = nlohmann::json::object();
    for (std::size_t i = 0; i < row->size(); ++i) {
      if (!(*row)[i].text.empty()) {
        values[(*header)[i].text] = cell_value((*row)[i]);
      }
    }
    plan.rows.push_back(std::move(values));
  }
  if (plan.rows.empty()) {
    return fail(ErrorKind::Usage, where + ": the table has a header and no rows");
  }
  return plan;
}

std::vector<std::size_t> rank_trials(const search::Metric& metric,
                                     const std::vector<TrialView>& trials) {
  std::vector<std::size_t> order(trials.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    const bool has_a = has_metric(trials[a]);
    const bool has_b = has_metric(trials[b]);
    return has_a && has_b ? metric.is_better(*trials[a].trial.metric, *trials[b].trial.metric)
                          : has_a > has_b;
  });
  return order;
}

Path find_run_path(const Sweep& sweep, const TrialView& view) {
  std::error_code error;
  std::filesystem::directory_iterator project(sweep.facts().runs, error);
  for (; !error && project != std::filesystem::directory_iterator(); project.increment(error)) {
    if (std::filesystem::exists(project->path() / view.run / "run.json")) {
      return project->path() / view.run;
    }
  }
  return {};
}

Result<void> write_trial_table(const Path& path, const Sweep& sweep,
                               const std::vector<TrialView>& trials) {
  std::set<std::string> keys;
  std::vector<nlohmann::json> flat;
  for (const TrialView& view : trials) {
    flat.push_back(search::flatten(view.trial.values));
    for (const auto& [key, value] : flat.back().items()) {
      keys.insert(key);
    }
  }
  using exchange::ColumnType;
  std::vector<exchange::Column> columns = {{"trial", ColumnType::Integer},
                                           {"state", ColumnType::Text}};
  for (const std::string& key : keys) {
    columns.push_back({key, ColumnType::Text});
  }
  const std::string& metric = sweep.plan().metric.name;
  columns.push_back({metric.empty() ? "metric" : metric, ColumnType::Number});
  columns.push_back({"seconds", ColumnType::Number});
  columns.push_back({"run", ColumnType::Text});
  columns.push_back({"checkpoints", ColumnType::Text});
  return exchange::write_table(
      path, exchange::TableFormat::Csv, columns,
      [&](exchange::TableWriter& writer) -> Result<void> {
        for (const std::size_t index : rank_trials(sweep.plan().metric, trials)) {
          const TrialView& view = trials[index];
          std::vector<std::string> texts;
          texts.reserve(keys.size() + 2);
          std::vector<exchange::Cell> cells = {view.trial.number, name_of(view.trial.state)};
          for (const std::string& key : keys) {
            const auto found = flat[index].find(key);
            if (found == flat[index].end()) {
              cells.emplace_back(std::monostate{});
            } else {
              cells.emplace_back(std::string_view(texts.emplace_back(text_of(*found))));
            }
          }
          cells.emplace_back(view.trial.metric ? exchange::Cell(*view.trial.metric)
                                               : exchange::Cell());
          cells.emplace_back(view.result ? exchange::Cell(view.result->seconds) : exchange::Cell());
          const Path run = find_run_path(sweep, view);
          const Path checkpoints = run / "checkpoints";
          cells.emplace_back(std::string_view(texts.emplace_back(run.string())));
          const bool has_checkpoints = !run.empty() && std::filesystem::exists(checkpoints);
          cells.emplace_back(std::string_view(
              texts.emplace_back(has_checkpoints ? checkpoints.string() : std::string())));
          KEDGE_TRY(writer.add_row(cells));
        }
        return {};
      });
}

}  // namespace kedge::sweep
