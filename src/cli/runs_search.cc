// `kedge runs ls`: runs of folders or of a tracking server, picked by one query language.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/run_source.h"
#include "cli/runs.h"
#include "cli/server_calls.h"
#include "cli/shared/json_output.h"
#include "cli/shared/text_table.h"
#include "core/log.h"
#include "store/query.h"

namespace kedge::cli {
namespace {

// A name that is no plain word stands between backquotes in the query language; who asks for a
// column need not know that.
std::string as_field(const std::string& text) {
  return store::parse_field_name(text) || text.contains('`') ? text : fmt::format("`{}`", text);
}

std::string render_cell(const nlohmann::json& value) {
  if (value.is_number_float()) {
    return fmt::format("{:.6g}", value.get<double>());
  }
  return value.is_string() ? value.get<std::string>() : value.is_null() ? "-" : value.dump();
}

const nlohmann::json* find_member(const nlohmann::json& object, const std::string& key) {
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

std::string part_name(store::SummaryPart part) {
  switch (part) {
    case store::SummaryPart::Min:
      return "min";
    case store::SummaryPart::Max:
      return "max";
    case store::SummaryPart::Count:
      return "count";
    case store::SummaryPart::LastStep:
      return "last_step";
    case store::SummaryPart::Last:
      break;
  }
  return "last";
}

// A run's own facts stand under their names, times as microseconds.
std::string fact_of(const nlohmann::json& run, const std::string& text) {
  if (const nlohmann::json* fact = find_member(run, text)) {
    return render_cell(*fact);
  }
  if (text == "tag") {
    std::vector<std::string> tags = run["tags"];
    return fmt::format("{}", fmt::join(tags, ","));
  }
  if (text == "duration") {
    const std::int64_t end = run["ended_us"].is_null() ? run.value("heartbeat_us", std::int64_t{0})
                                                       : run["ended_us"].get<std::int64_t>();
    return fmt::format("{:.0f}",
                       static_cast<double>(end - run["created_us"].get<std::int64_t>()) * 1e-6);
  }
  const std::string time = time_of(run, (text + "_us").c_str());
  return time.empty() ? "-" : time;
}

// The value of a field in a run of an answer, whose config and summary are flat.
std::string field_of(const nlohmann::json& run, const std::string& text,
                     const store::FieldName& field) {
  using Kind = store::FieldName::Kind;
  if (field.kind == Kind::Fact || field.kind == Kind::Tag) {
    return fact_of(run, text);
  }
  const char* const part = field.kind == Kind::Config  ? "config"
                           : field.kind == Kind::Label ? "labels"
                                                       : "summary";
  const nlohmann::json* value = find_member(run.at(part), field.key);
  if (value != nullptr && field.kind == Kind::Summary) {
    value = find_member(*value, part_name(field.part));
  }
  return value == nullptr ? "-" : render_cell(*value);
}

std::string best_of(const nlohmann::json& run) {
  const nlohmann::json& best = run["best"];
  return best.is_null()
             ? "-"
             : fmt::format("{} {:.4g}", best.value("metric", ""), best["value"].get<double>());
}

Result<void> print_runs(const nlohmann::json& runs, const std::vector<std::string>& titles,
                        const std::vector<std::string>& fields) {
  std::vector<store::FieldName> names;
  for (const std::string& field : fields) {
    names.push_back(KEDGE_TRY(store::parse_field_name(field)));
  }
  const bool has_best =
      std::ranges::any_of(runs, [](const nlohmann::json& run) { return !run["best"].is_null(); });
  std::vector<std::vector<std::string>> rows = {{"RUN", "NAME", "STATE", "ATTEMPTS", "STEP"}};
  if (has_best) {
    rows.front().emplace_back("BEST");
  }
  rows.front().emplace_back("CREATED");
  rows.front().insert(rows.front().end(), titles.begin(), titles.end());
  for (const nlohmann::json& run : runs) {
    auto& row = rows.emplace_back();
    row = {fmt::format("{}/{}", run["project"].get<std::string>(), run["id"].get<std::string>()),
           run["name"], run["state"], run["attempt"].dump(), render_cell(run["last_step"])};
    if (has_best) {
      row.push_back(best_of(run));
    }
    row.push_back(time_of(run, "created_us"));
    for (std::size_t i = 0; i < fields.size(); ++i) {
      row.push_back(field_of(run, fields[i], names[i]));
    }
  }
  fmt::print("{}", render_table(rows));
  return {};
}

}  // namespace

Result<void> list_runs(Args args) {
  const VerbHelp help = {
      .usage = "kedge runs ls [DIR]",
      .text = "Lists the runs under DIR (runs), or those of a tracking server, newest first.",
      .flags = {kServerFlag,
                kTokenFlag,
                kRunProjectFlag,
                kRunFilterFlag,
                {"--order", "FIELD", "in this order; -FIELD for largest first"},
                {"--field", "FIELD", "a column more: config.KEY, a metric, METRIC.min, ..."},
                {"--limit", "N", "at most so many (100)"},
                {"--trash", "", "of a server: the deleted ones that can be restored"},
                kJsonFlag}};
  const auto arguments = KEDGE_TRY(parse_or_help(args, help));
  if (!arguments) {
    return {};
  }
  const std::vector<std::string>& words = arguments->positionals();
  if (words.size() > 1) {
    return fail(ErrorKind::Usage, "runs ls takes one folder", fmt::format("usage: {}", help.usage));
  }
  const std::vector<std::string> titles = arguments->values("--field");
  RunQuery query{.project = arguments->value("--project"),
                 .filter = arguments->value("--filter"),
                 .order = arguments->values("--order"),
                 .limit = static_cast<std::size_t>(KEDGE_TRY(arguments->number("--limit", 100))),
                 .is_trash = arguments->has("--trash")};
  std::ranges::transform(titles, std::back_inserter(query.fields), as_field);
  const auto source =
      KEDGE_TRY(open_runs(*arguments, words.empty() ? std::nullopt : std::optional(words.front())));
  const nlohmann::json answer = KEDGE_TRY(source->search(query));
  if (arguments->has("--json")) {
    print_json(answer);
    return {};
  }
  for (const nlohmann::json& warning : answer["warnings"]) {
    warn("{}", warning.get<std::string>());
  }
  KEDGE_TRY(print_runs(answer["runs"], titles, query.fields));
  if (const std::size_t total = answer["total"]; total > answer["runs"].size()) {
    fmt::print(stderr, "{} of {} runs; --limit shows more\n", answer["runs"].size(), total);
  }
  return {};
}

}  // namespace kedge::cli
