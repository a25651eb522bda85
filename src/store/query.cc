#include "store/query.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>

#include <fmt/format.h>

#include "store/internal/field.h"
#include "store/internal/query_lexer.h"
#include "store/internal/query_plan.h"

namespace kedge::store {

struct RunFilter::Plan {
  QueryPlan query;
};

RunFilter::RunFilter(std::unique_ptr<Plan> plan) : plan_(std::move(plan)) {}

RunFilter::RunFilter(RunFilter&&) noexcept = default;
RunFilter& RunFilter::operator=(RunFilter&&) noexcept = default;
RunFilter::~RunFilter() = default;

Result<RunFilter> RunFilter::compile(std::string_view text, const QueryKeys& keys,
                                     std::int64_t now_us) {
  auto plan = std::make_unique<Plan>();
  plan->query = KEDGE_TRY(parse_query(text, keys, now_us));
  return RunFilter(std::move(plan));
}

RunFilter RunFilter::compile(const Condition& condition) {
  auto plan = std::make_unique<Plan>();
  plan->query = plan_of(condition);
  return RunFilter(std::move(plan));
}

bool RunFilter::matches(const QueriedRun& run) const {
  return plan_->query.matches(plan_->query.root, run);
}

const std::vector<std::string>& RunFilter::warnings() const {
  return plan_->query.warnings;
}

namespace {

// In this order both ways; null is as good as nothing.
enum class SortClass : std::uint8_t { Number, Text, NaN, Missing };

struct SortKey {
  SortClass rank = SortClass::Missing;
  long double number = 0;  // holds every int64: without that, sorting would not be an order
  std::string_view text;
};

SortKey sort_key_of(const QueryValue& value) {
  SortKey key;
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    key = {SortClass::Number, static_cast<long double>(*integer), {}};
  } else if (const auto* number = std::get_if<double>(&value)) {
    key = {std::isnan(*number) ? SortClass::NaN : SortClass::Number, *number, {}};
  } else if (const auto* truth = std::get_if<bool>(&value)) {
    key = {SortClass::Number, *truth ? 1.0L : 0.0L, {}};
  } else if (const auto* text = std::get_if<std::string_view>(&value)) {
    key = {SortClass::Text, 0, *text};
  }
  return key;
}

RunView view_of(BoundField field) {
  return [field = std::move(field)](const QueriedRun& run, std::string& /*made*/) -> QueryValue {
    const bool is_tag = field.name.kind == FieldName::Kind::Tag && run.tag_count() > 0;
    return is_tag ? QueryValue(run.tag(0)) : value_of(field, run);
  };
}

// Below zero: a first.
int compare(const SortKey& a, const SortKey& b, bool is_descending) {
  if (a.rank != b.rank) {
    return a.rank < b.rank ? -1 : 1;
  }
  int order = 0;
  if (a.rank == SortClass::Number) {
    order = a.number < b.number ? -1 : a.number > b.number ? 1 : 0;
  } else if (a.rank == SortClass::Text) {
    order = a.text < b.text ? -1 : a.text > b.text ? 1 : 0;
  }
  return is_descending ? -order : order;
}

Error for_order(Error error) {
  constexpr std::string_view kFilter = "filter, ";
  if (error.message.starts_with(kFilter)) {
    error.message.replace(0, kFilter.size(), "order, ");
  }
  return error;
}

}  // namespace

struct RunOrder::Plan {
  std::vector<ViewOrder> terms;
};

RunOrder::RunOrder(std::unique_ptr<Plan> plan) : plan_(std::move(plan)) {}

RunOrder::RunOrder(RunOrder&&) noexcept = default;
RunOrder& RunOrder::operator=(RunOrder&&) noexcept = default;
RunOrder::~RunOrder() = default;

Result<RunOrder> RunOrder::compile(std::span<const std::string> terms, const QueryKeys& keys) {
  if (terms.size() > kMaxOrderTerms) {
    return fail(ErrorKind::Usage, fmt::format("{} fields to order by; {} are the limit",
                                              terms.size(), kMaxOrderTerms));
  }
  auto plan = std::make_unique<Plan>();
  for (const std::string& term : terms) {
    std::string_view name = term;
    const bool is_descending = name.starts_with('-');
    name.remove_prefix(is_descending || name.starts_with('+') ? 1 : 0);
    Result<FieldName> field = parse_field_name(name);
    if (!field) {
      return std::unexpected(for_order(std::move(field).error()));
    }
    plan->terms.push_back({view_of(bind_field(*std::move(field), keys, nullptr)), is_descending});
  }
  return RunOrder(std::move(plan));
}

RunOrder RunOrder::compile(std::vector<ViewOrder> terms) {
  return RunOrder(std::make_unique<Plan>(Plan{std::move(terms)}));
}

std::vector<std::size_t> RunOrder::sorted(std::span<const QueriedRun* const> runs,
                                          std::size_t offset, std::size_t limit) const {
  const std::size_t term_count = plan_->terms.size();
  std::vector<SortKey> keys;
  keys.reserve(runs.size() * term_count);
  std::deque<std::string> made;  // its texts do not move
  made.emplace_back();
  for (const QueriedRun* run : runs) {
    for (const ViewOrder& term : plan_->terms) {
      keys.push_back(sort_key_of(term.view(*run, made.back())));
      if (!made.back().empty()) {
        made.emplace_back();
      }
    }
  }
  std::vector<std::size_t> places(runs.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  const auto is_before = [&](std::size_t a, std::size_t b) {
    for (std::size_t t = 0; t < term_count; ++t) {
      const int order = compare(keys[a * term_count + t], keys[b * term_count + t],
                                plan_->terms[t].is_descending);
      if (order != 0) {
        return order < 0;
      }
    }
    return a < b;
  };
  const std::size_t begin = std::min(offset, runs.size());
  const std::size_t end = begin + std::min(limit, runs.size() - begin);
  const auto at = [&](std::size_t i) { return places.begin() + static_cast<std::ptrdiff_t>(i); };
  if (end < places.size()) {
    std::nth_element(places.begin(), at(end), places.end(), is_before);
  }
  std::sort(places.begin(), at(end), is_before);
  return {at(begin), at(end)};
}

Result<FieldName> parse_field_name(std::string_view text) {
  const std::vector<Token> tokens = KEDGE_TRY(split_query(text));
  FieldName field = KEDGE_TRY(field_of(tokens[0]));
  if (tokens[1].kind != TokenKind::End) {
    return std::unexpected(query_error(
        tokens[1].column, fmt::format("expected one field, got also {}", shown(tokens[1])),
        "names that are no plain words go between backquotes"));
  }
  return field;
}

}  // namespace kedge::store
