#include "mlflow/internal/run_query.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "mlflow/internal/python_text.h"
#include "mlflow/internal/runs.h"

namespace kedge::mlflow {
namespace {

using store::Condition;
using store::QueriedRun;
using store::QueryValue;
using store::RunFact;

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

QueryValue value_or_none(const std::optional<std::string_view>& text) {
  return text ? QueryValue(*text) : QueryValue();
}

// Empty is "not there" for facts of ours.
QueryValue filled(const QueryValue& value) {
  const auto text = text_of(value);
  return text && !text->empty() ? value : QueryValue();
}

// As Python writes it.
QueryValue param_of(const QueryValue& value, std::string& made) {
  if (std::holds_alternative<std::monostate>(value) || text_of(value)) {
    return value;
  }
  if (const auto* truth = std::get_if<bool>(&value)) {
    return *truth ? "True" : "False";
  }
  if (std::holds_alternative<std::nullptr_t>(value)) {
    return "None";
  }
  const auto* integer = std::get_if<std::int64_t>(&value);
  made = integer != nullptr ? std::to_string(*integer) : python_float(std::get<double>(value));
  return std::string_view(made);
}

using store::RunView;
using Locations = std::shared_ptr<const std::map<std::string, std::string, std::less<>>>;

RunView view_fact(RunFact fact) {
  return [fact](const QueriedRun& run, std::string&) { return run.fact(fact); };
}

RunView view_time(RunFact fact) {
  return [fact](const QueriedRun& run, std::string&) -> QueryValue {
    const double time = number_of(run.fact(fact)).value_or(0);
    return time > 0 ? QueryValue(std::floor(time / 1000)) : QueryValue();
  };
}

RunView view_nothing() {
  return [](const QueriedRun&, std::string&) { return QueryValue(); };
}

RunView view_attribute(const std::string& key, const Locations& locations) {
  static const std::map<std::string_view, RunView> views = {
      {"start_time", view_time(RunFact::Created)},
      {"end_time", view_time(RunFact::Ended)},
      {"run_id", view_fact(RunFact::Id)},
      {"run_name", view_fact(RunFact::Name)},
      {"user_id", view_fact(RunFact::User)},
      {"status", [](const QueriedRun& run, std::string&) {
         const auto state = store::parse_run_state(text_of(run.fact(RunFact::State)).value_or(""));
         return state ? QueryValue(status_of(*state)) : QueryValue();
       }}};
  if (const auto found = views.find(key); found != views.end()) {
    return found->second;
  }
  return [locations](const QueriedRun& run, std::string& made) -> QueryValue {  // artifact_uri
    const auto found = locations->find(text_of(run.fact(RunFact::Project)).value_or(""));
    if (found == locations->end()) {
      return {};
    }
    made =
        fmt::format("{}{}/artifacts", found->second, text_of(run.fact(RunFact::Id)).value_or(""));
    return std::string_view(made);
  };
}

RunView view_tag(const std::string& key, const store::QueryKeys& keys) {
  if (key == kRunNameTag || key == kParentTag || key == kNoteTag) {
    const RunFact fact = key == kRunNameTag  ? RunFact::Name
                         : key == kParentTag ? RunFact::Parent
                                             : RunFact::Notes;
    return [fact](const QueriedRun& run, std::string&) { return filled(run.fact(fact)); };
  }
  const auto label = keys.find_label(key);
  if (key == kUserTag) {
    return [label](const QueriedRun& run, std::string&) -> QueryValue {
      const auto text = label ? text_of(run.label(*label)) : std::nullopt;
      const bool is_own = !text && text_of(run.fact(RunFact::Source)) != "mlflow";
      return is_own ? filled(run.fact(RunFact::User)) : value_or_none(text);
    };
  }
  if (!label) {
    return view_nothing();
  }
  return [label = *label](const QueriedRun& run, std::string&) {
    return value_or_none(text_of(run.label(label)));
  };
}

RunView view_of(Entity entity, const std::string& key, const store::QueryKeys& keys,
                const Locations& locations) {
  if (entity == Entity::Attribute) {
    return view_attribute(key, locations);
  }
  if (entity == Entity::Tag) {
    return view_tag(key, keys);
  }
  const auto id = entity == Entity::Metric ? keys.find_metric(key) : keys.find_config(key);
  if (!id) {
    return view_nothing();
  }
  if (entity == Entity::Metric) {
    return [id = *id](const QueriedRun& run, std::string&) {
      const auto number = number_of(run.summary(id, store::SummaryPart::Last));
      return number ? QueryValue(*number) : QueryValue();
    };
  }
  return [id = *id](const QueriedRun& run, std::string& made) {
    return param_of(run.config(id), made);
  };
}

// A value that is not there passes only IS NULL.
Condition condition_of(const Clause& clause, const RunView& view) {
  using Kind = Condition::Kind;
  Condition leaf{.kind = Kind::Equal, .view = view};
  if (clause.is_numeric) {
    leaf.values = {clause.number};
  } else if (clause.comparator == Comparator::In || clause.comparator == Comparator::NotIn) {
    leaf.values.assign(clause.list.begin(), clause.list.end());
  } else {
    leaf.values = {clause.text};
  }
  const Condition exists{.kind = Kind::Exists, .view = view};
  const auto negated = [](Condition child) {
    return Condition{.kind = Kind::Not, .children = {std::move(child)}};
  };
  switch (clause.comparator) {
    case Comparator::Equal:
    case Comparator::In:
      return leaf;
    case Comparator::NotEqual:
    case Comparator::NotIn:
      return {.children = {exists, negated(std::move(leaf))}};
    case Comparator::IsNull:
      return negated(exists);
    case Comparator::IsNotNull:
      return exists;
    case Comparator::Like:
    case Comparator::ILike:
      leaf.kind = Kind::Match;
      leaf.is_match = [clause](std::string_view text) { return matches_text(clause, text); };
      return leaf;
    case Comparator::Less:
      leaf.kind = Kind::Less;
      break;
    case Comparator::LessEqual:
      leaf.kind = Kind::LessEqual;
      break;
    case Comparator::Greater:
      leaf.kind = Kind::Greater;
      break;
    case Comparator::GreaterEqual:
      leaf.kind = Kind::GreaterEqual;
      break;
  }
  return clause.is_numeric ? leaf : Condition{.kind = Kind::Any};  // texts have no order here
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
  store::SearchPlan plan;
  for (const Clause& clause : query.clauses) {
    plan.filter.children.push_back(
        condition_of(clause, view_of(clause.entity, clause.key, keys, query.locations)));
  }
  if (query.only) {
    plan.filter.children.push_back(
        {.kind = Condition::Kind::Match,
         .view = view_fact(RunFact::Id),
         .is_match = [only = query.only](std::string_view id) { return only->contains(id); }});
  }
  for (const OrderTerm& term : whole_order(query.order)) {
    plan.order.push_back(
        {view_of(term.entity, term.key, keys, query.locations), !term.is_ascending});
  }
  return plan;
}

}  // namespace kedge::mlflow
