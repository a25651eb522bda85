#include "wandb/internal/run_filter.h"

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "server/api.h"
#include "wandb/internal/run_words.h"

namespace kedge::wandb {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxDepth = 32;

struct FieldWord {
  std::string_view wire;
  std::string_view native;
};

constexpr auto kFields = std::to_array<FieldWord>({
    {"name", "id"},
    {"display_name", "name"},
    {"displayName", "name"},
    {"state", "state"},
    {"tags", "tag"},
    {"group", "group"},
    {"groupName", "group"},
    {"jobType", "job_type"},
    {"job_type", "job_type"},
    {"sweep", "sweep"},
    {"username", "user"},
    {"user", "user"},
    {"host", "host"},
    {"notes", "notes"},
    {"description", "notes"},
    {"createdAt", "created"},
    {"created_at", "created"},
    {"heartbeatAt", "heartbeat"},
    {"heartbeat_at", "heartbeat"},
    {"updated_at", "heartbeat"},
    {"updatedAt", "heartbeat"},
    {"duration", "duration"},
});

std::string quote_name(std::string_view name) {
  std::string quoted = "`";
  for (const char c : name) {
    quoted += c;
    quoted += c == '`' ? "`" : "";
  }
  return quoted + "`";
}

// Behind "config.": keys are wrapped once, {"lr": {"value": 0.1}}.
std::string strip_value(std::string key) {
  constexpr std::string_view kEnd = ".value";
  if (key.ends_with(kEnd)) {
    key.resize(key.size() - kEnd.size());
  } else if (const auto inner = key.find(".value."); inner != std::string::npos) {
    key.erase(inner, kEnd.size());
  }
  return key;
}

// A metric, or what define_metric(summary="min") makes of one.
std::string metric_name(std::string_view key) {
  for (const std::string_view part : {".min", ".max", ".last"}) {
    if (key.ends_with(part)) {
      return fmt::format("summary.{}{}", quote_name(key.substr(0, key.size() - part.size())), part);
    }
  }
  return "summary." + quote_name(key);
}

Result<std::string> translate_field(std::string_view field) {
  for (const std::string_view prefix : {"config."}) {
    if (field.starts_with(prefix)) {
      return "config." + quote_name(strip_value(std::string(field.substr(prefix.size()))));
    }
  }
  for (const std::string_view prefix : {"summary_metrics.", "summaryMetrics.", "summary."}) {
    if (field.starts_with(prefix)) {
      return metric_name(field.substr(prefix.size()));
    }
  }
  for (const FieldWord& word : kFields) {
    if (word.wire == field) {
      return std::string(word.native);
    }
  }
  return fail(ErrorKind::Usage, fmt::format("filters: no field of a run is named \"{}\"", field));
}

std::string quote_text(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    switch (c) {
      case '"':
      case '\\':
        quoted += '\\';
        quoted += c;
        break;
      case '\n':
        quoted += "\\n";
        break;
      case '\t':
        quoted += "\\t";
        break;
      default:
        quoted += c;
    }
  }
  return quoted + "\"";
}

class Translator {
 public:
  Result<std::string> translate(const json& filter) {
    if (++depth_ > kMaxDepth) {
      return fail(ErrorKind::Usage, "filters: nested too deeply");
    }
    if (!filter.is_object()) {
      return fail(ErrorKind::Usage, "filters: an object was expected");
    }
    std::vector<std::string> terms;
    for (const auto& [name, value] : filter.items()) {
      terms.push_back(KEDGE_TRY(name.starts_with('$') ? translate_group(name, value)
                                                      : translate_conditions(name, value)));
    }
    --depth_;
    return join(terms, " and ");
  }

 private:
  // An empty "and" is true, which has no word of its own: every run has an id.
  static std::string join(const std::vector<std::string>& terms, std::string_view word) {
    if (terms.empty()) {
      return word == " or " ? "not exists id" : "exists id";
    }
    return terms.size() == 1 ? terms[0] : fmt::format("({})", fmt::join(terms, word));
  }

  Result<std::string> translate_group(const std::string& name, const json& list) {
    if (name == "$not") {
      return fmt::format("not ({})", KEDGE_TRY(translate(list)));
    }
    if ((name != "$and" && name != "$or" && name != "$nor") || !list.is_array()) {
      return fail(ErrorKind::Usage, fmt::format("filters: \"{}\" is not known here", name));
    }
    std::vector<std::string> terms;
    for (const json& item : list) {
      terms.push_back(KEDGE_TRY(translate(item)));
    }
    const std::string joined = join(terms, name == "$and" ? " and " : " or ");
    return name == "$nor" ? fmt::format("not ({})", joined) : joined;
  }

  Result<std::string> translate_conditions(const std::string& name, const json& value) {
    field_ = KEDGE_TRY(translate_field(name));
    if (!value.is_object()) {
      return translate_equal(value);
    }
    std::vector<std::string> terms;
    const std::string field = field_;
    for (const auto& [word, operand] : value.items()) {
      field_ = field;
      if (word != "$options") {
        terms.push_back(KEDGE_TRY(translate_operator(word, operand, value)));
      }
    }
    return join(terms, " and ");
  }

  Result<std::string> translate_operator(const std::string& word, const json& operand,
                                         const json& all) {
    if (word == "$eq") {
      return translate_equal(operand);
    }
    if (word == "$ne") {
      return fmt::format("not ({})", KEDGE_TRY(translate_equal(operand)));
    }
    constexpr auto kCompares = std::to_array<std::pair<std::string_view, std::string_view>>(
        {{"$gt", ">"}, {"$gte", ">="}, {"$lt", "<"}, {"$lte", "<="}});
    for (const auto& [wire, native] : kCompares) {
      if (word == wire) {
        return fmt::format("{} {} {}", field_, native, KEDGE_TRY(translate_value(operand)));
      }
    }
    if (word == "$in" || word == "$nin" || word == "$all") {
      return translate_list(word, operand);
    }
    if (word == "$exists") {
      return fmt::format("{}exists {}", operand == false ? "not " : "", field_);
    }
    if (word == "$regex" && operand.is_string()) {
      const bool ignores_case = all.value("$options", json()) == "i";
      return fmt::format("{} ~ {}", field_,
                         quote_text((ignores_case ? "(?i)" : "") + operand.get<std::string>()));
    }
    if (word == "$not" && operand.is_object()) {
      std::vector<std::string> terms;
      for (const auto& [inner, value] : operand.items()) {
        terms.push_back(KEDGE_TRY(translate_operator(inner, value, operand)));
      }
      return fmt::format("not ({})", join(terms, " and "));
    }
    return fail(ErrorKind::Usage, fmt::format("filters: the operator \"{}\" is not known", word));
  }

  Result<std::string> translate_list(const std::string& word, const json& list) {
    if (!list.is_array()) {
      return fail(ErrorKind::Usage, fmt::format("filters: \"{}\" wants a list", word));
    }
    std::vector<std::string> terms;
    for (const json& item : list) {
      terms.push_back(KEDGE_TRY(translate_equal(item)));
    }
    const std::string joined = join(terms, word == "$all" ? " and " : " or ");
    return word == "$nin" ? fmt::format("not ({})", joined) : joined;
  }

  // Null is also what is not there; a list is all of its members.
  Result<std::string> translate_equal(const json& value) {
    if (value.is_null()) {
      return fmt::format("({0} = null or not exists {0})", field_);
    }
    if (value.is_array()) {
      return translate_list("$all", value);
    }
    return fmt::format("{} = {}", field_, KEDGE_TRY(translate_value(value)));
  }

  Result<std::string> translate_value(const json& value) const {
    if (value.is_string()) {
      const std::string text = value.get<std::string>();
      const auto state = field_ == "state" ? parse_state(text) : std::nullopt;
      return quote_text(state ? store::name_of(*state) : text);
    }
    if (value.is_number() || value.is_boolean()) {
      return value.dump();
    }
    return fail(ErrorKind::Usage, "filters: a value must be a text, a number or a boolean");
  }

  std::string field_;
  std::size_t depth_ = 0;
};

}  // namespace

Result<std::string> translate_filter(const json& filter) {
  return Translator().translate(filter);
}

Result<std::vector<std::string>> translate_order(std::string_view order) {
  std::vector<std::string> terms;
  while (!order.empty()) {
    std::string_view term = order.substr(0, order.find(','));
    order.remove_prefix(std::min(term.size() + 1, order.size()));
    while (term.starts_with(' ')) {
      term.remove_prefix(1);
    }
    const bool is_down = term.starts_with('-');
    if (is_down || term.starts_with('+')) {
      term.remove_prefix(1);
    }
    if (!term.empty()) {
      terms.push_back((is_down ? "-" : "") + KEDGE_TRY(translate_field(term)));
    }
  }
  if (terms.empty()) {
    terms.emplace_back("created");
  }
  return terms;
}

Result<FoundRuns> search_runs(const ProjectNode& project, const RunQuery& query) {
  store::Search search;
  search.projects = {project.name};
  const json filter = query.filters.empty() ? json() : KEDGE_TRY(server::parse_json(query.filters));
  if (!filter.is_null() && !filter.empty()) {
    search.filter = KEDGE_TRY(translate_filter(filter));
  }
  search.order = KEDGE_TRY(translate_order(query.order));
  search.offset = query.page.offset;
  search.limit = query.page.limit;
  search.fields.emplace();  // facts are enough
  const store::SearchAnswer answer =
      KEDGE_TRY(project.call->api.store.search(search, project.call->now_us()));
  FoundRuns found{.keys = {}, .total = answer.total};
  for (const store::Run& run : answer.runs) {
    if (project.call->check(run.facts.project, run.facts.id)) {
      found.keys.push_back({run.facts.project, run.facts.id});
    }
  }
  return found;
}

}  // namespace kedge::wandb
