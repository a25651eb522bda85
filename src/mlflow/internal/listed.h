// Filters and orders of lists that lie in memory: experiments, models, versions. Each subject has
// one function that says what a name means: (item, entity, key) to a value.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "mlflow/internal/filter.h"

namespace kedge::mlflow {

// Nothing, a number or a text. A whole number is also compared as its text.
using Listed = std::variant<std::monostate, double, std::string>;

bool passes(const Clause& clause, const Listed& value);

// Below 0: `a` comes first. What is missing comes last either way.
int compare_listed(const Listed& a, const Listed& b, bool is_ascending);

Listed text_in(const std::map<std::string, std::string>& texts, std::string_view key);
Listed time_of(std::int64_t us);  // in milliseconds

template <typename T, typename ValueOf>
bool passes_all(const std::vector<Clause>& clauses, const T& item, const ValueOf& value_of) {
  return std::ranges::all_of(clauses, [&](const Clause& clause) {
    return passes(clause, value_of(item, clause.entity, clause.key));
  });
}

template <typename T, typename ValueOf>
void sort_by(std::vector<T>& items, const std::vector<OrderTerm>& order, const ValueOf& value_of) {
  std::ranges::stable_sort(items, [&](const T& a, const T& b) {
    for (const OrderTerm& term : order) {
      const int found = compare_listed(value_of(a, term.entity, term.key),
                                       value_of(b, term.entity, term.key), term.is_ascending);
      if (found != 0) {
        return found < 0;
      }
    }
    return false;
  });
}

}  // namespace kedge::mlflow
