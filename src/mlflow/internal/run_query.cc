#include "mlflow/internal/run_query.h"

#include <algorithm>
#include <cmath>
#include <compare>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "mlflow/internal/python_text.h"
#include "mlflow/internal/runs.h"

namespace kedge::mlflow {
namespace {

using store::KeyId;
using store::QueriedRun;
using store::QueryValue;
using store::RunFact;

// What a clause or an order looks at. A text that is made for it lies in `made`.
struct Seen {
  std::optional<double> number = {};
  std::optional<std::string_view> text = {};
  std::string made = {};
};

std::optional<double> number_of(const QueryValue& value) {
  if (const auto* number = std::get_if<double>(&value)) {
    return *number;
  }
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    return static_cast<double>(*integer);
  }
  if (const auto* truth = std::get_if<bool>(&value)) {
    return *truth ? 1 : 0;
  }
  return std::nullopt;
}

std::optional<std::string_view> text_of(const QueryValue& value) {
  const auto* text = std::get_if<std::string_view>(&value);
  return text == nullptr ? std::nullopt : std::optional(*text);
}

// Empty is "not there" for facts of ours.
std::optional<std::string_view> filled(const QueryValue& value) {
  const auto text = text_of(value);
  return text && !text->empty() ? text : std::nullopt;
}

void see_param(const QueryValue& value, Seen& seen) {
  if (const auto text = text_of(value)) {
    seen.text = text;
    return;
  }
  if (std::holds_alternative<std::monostate>(value)) {
    return;
  }
  if (const auto* truth = std::get_if<bool>(&value)) {
    seen.text = *truth ? "True" : "False";
    return;
  }
  if (std::holds_alternative<std::nullptr_t>(value)) {
    seen.text = "None";
    return;
  }
  const auto* integer = std::get_if<std::int64_t>(&value);
  seen.made = integer != nullptr ? std::to_string(*integer) : python_float(std::get<double>(value));
  seen.text = seen.made;
}

using See = std::function<void(const QueriedRun& run, Seen& seen)>;
using Locations = std::shared_ptr<const std::map<std::string, std::string, std::less<>>>;

See see_fact(RunFact fact) {
  return [fact](const QueriedRun& run, Seen& seen) { seen.text = text_of(run.fact(fact)); };
}

See see_time(RunFact fact) {
  return [fact](const QueriedRun& run, Seen& seen) {
    const auto time = number_of(run.fact(fact));
    if (time && *time > 0) {
      seen.number = std::floor(*time / 1000);
    }
  };
}

See see_attribute(const std::string& key, const Locations& locations) {
  if (key == "start_time") {
    return see_time(RunFact::Created);
  }
  if (key == "end_time") {
    return see_time(RunFact::Ended);
  }
  if (key == "run_id") {
    return see_fact(RunFact::Id);
  }
  if (key == "run_name") {
    return see_fact(RunFact::Name);
  }
  if (key == "user_id") {
    return see_fact(RunFact::User);
  }
  if (key == "status") {
    return [](const QueriedRun& run, Seen& seen) {
      const auto name = text_of(run.fact(RunFact::State));
      const auto state = store::parse_run_state(name.value_or(""));
      seen.text = state ? std::optional(status_of(*state)) : std::nullopt;
    };
  }
  return [locations](const QueriedRun& run, Seen& seen) {  // artifact_uri
    const auto project = text_of(run.fact(RunFact::Project)).value_or("");
    const auto found = locations->find(project);
    if (found != locations->end()) {
      seen.made =
          fmt::format("{}{}/artifacts", found->second, text_of(run.fact(RunFact::Id)).value_or(""));
      seen.text = seen.made;
    }
  };
}

See see_tag(const std::string& key, const store::QueryKeys& keys) {
  if (key == kRunNameTag || key == kParentTag || key == kNoteTag) {
    const RunFact fact = key == kRunNameTag  ? RunFact::Name
                         : key == kParentTag ? RunFact::Parent
                                             : RunFact::Notes;
    return [fact](const QueriedRun& run, Seen& seen) { seen.text = filled(run.fact(fact)); };
  }
  const auto label = keys.find_label(key);
  if (key == kUserTag) {
    return [label](const QueriedRun& run, Seen& seen) {
      seen.text = label ? text_of(run.label(*label)) : std::nullopt;
      if (!seen.text && text_of(run.fact(RunFact::Source)) != "mlflow") {
        seen.text = filled(run.fact(RunFact::User));
      }
    };
  }
  if (!label) {
    return [](const QueriedRun&, Seen&) {};
  }
  return [label = *label](const QueriedRun& run, Seen& seen) {
    seen.text = text_of(run.label(label));
  };
}

See see(Entity entity, const std::string& key, const store::QueryKeys& keys,
        const Locations& locations) {
  if (entity == Entity::Attribute) {
    return see_attribute(key, locations);
  }
  if (entity == Entity::Tag) {
    return see_tag(key, keys);
  }
  const auto number = entity == Entity::Metric ? keys.find_metric(key) : keys.find_config(key);
  if (!number) {
    return [](const QueriedRun&, Seen&) {};
  }
  if (entity == Entity::Metric) {
    return [id = *number](const QueriedRun& run, Seen& seen) {
      seen.number = number_of(run.summary(id, store::SummaryPart::Last));
    };
  }
  return [id = *number](const QueriedRun& run, Seen& seen) { see_param(run.config(id), seen); };
}

struct Test {
  Clause clause;
  See see;

  bool passes(const QueriedRun& run) const {
    Seen seen;
    see(run, seen);
    return clause.is_numeric ? matches_number(clause, seen.number)
                             : matches_text(clause, seen.text);
  }
};

// Missing values come last whichever way, and NaN just before them.
int rank(const Seen& seen) {
  if (seen.number) {
    return std::isnan(*seen.number) ? 1 : 0;
  }
  return seen.text ? 0 : 2;
}

// Below 0: `a` comes first.
int compare_seen(const Seen& a, const Seen& b, bool is_ascending) {
  const int ranks = rank(a) - rank(b);
  if (ranks != 0 || rank(a) != 0) {
    return ranks;
  }
  int order = 0;
  if (a.number && b.number) {
    order = *a.number < *b.number ? -1 : *a.number > *b.number ? 1 : 0;
  } else if (a.text && b.text) {
    order = a.text->compare(*b.text);
  }
  return is_ascending ? order : -order;
}

struct RunSorting {
  See see;
  bool is_ascending;
};

bool is_run_before(const std::vector<RunSorting>& order, const QueriedRun& a, const QueriedRun& b) {
  for (const RunSorting& term : order) {
    Seen left;
    Seen right;
    term.see(a, left);
    term.see(b, right);
    if (const int found = compare_seen(left, right, term.is_ascending); found != 0) {
      return found < 0;
    }
  }
  return false;
}

std::vector<OrderTerm> whole_order(std::vector<OrderTerm> terms) {
  const auto has = [&](std::string_view key) {
    return std::ranges::any_of(terms, [&](const OrderTerm& term) {
      return term.entity == Entity::Attribute && term.key == key;
    });
  };
  if (!has("start_time")) {
    terms.push_back({.key = "start_time", .is_ascending = false});
  }
  if (!has("run_id")) {
    terms.push_back({.key = "run_id"});
  }
  return terms;
}

}  // namespace

store::SearchPlan compile_query(const RunQuery& query, const store::QueryKeys& keys) {
  std::vector<Test> tests;
  for (const Clause& clause : query.clauses) {
    tests.push_back({clause, see(clause.entity, clause.key, keys, query.locations)});
  }
  std::vector<RunSorting> order;
  for (const OrderTerm& term : whole_order(query.order)) {
    order.push_back({see(term.entity, term.key, keys, query.locations), term.is_ascending});
  }
  store::SearchPlan plan;
  if (!tests.empty() || query.only) {
    plan.matches = [tests = std::move(tests), only = query.only](const QueriedRun& run) {
      const bool is_one = !only || only->contains(text_of(run.fact(RunFact::Id)).value_or(""));
      return is_one &&
             std::ranges::all_of(tests, [&](const Test& test) { return test.passes(run); });
    };
  }
  plan.is_before = [order = std::move(order)](const QueriedRun& a, const QueriedRun& b) {
    return is_run_before(order, a, b);
  };
  return plan;
}

}  // namespace kedge::mlflow
