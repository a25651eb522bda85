#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/result.h"
#include "store/groups.h"
#include "store/internal/curve_grid.h"
#include "store/internal/run_grouping.h"
#include "store/internal/store_parts.h"
#include "store/store.h"

namespace kedge::store {
namespace {

// Points of a group that are kept in memory between finding the places and summing up: 64 MB. Where
// there are more, they are read twice.
constexpr std::uint64_t kMaxKept = 4'000'000;
// Points that are read for all groups together. Where there are more, runs are read as charts are.
constexpr std::uint64_t kMaxRead = 20'000'000;

std::uint64_t count_points(const GroupedRuns& group, std::optional<KeyId> key) {
  std::uint64_t count = 0;
  for (const EntryPointer& run : group.runs) {
    const KeyedSummary* metric = key ? run->find_metric(*key) : nullptr;
    count += metric == nullptr ? 0 : metric->count;
  }
  return count;
}

// The curves of a group's runs, as often as they are asked for.
class MemberCurves {
 public:
  // `request.points`: of each run; 0: all.
  MemberCurves(const Store& store, const GroupedRuns& group, SeriesRequest request,
               std::optional<KeyId> key)
      : store_(store), request_(std::move(request)) {
    for (const EntryPointer& run : group.runs) {
      // The index knows nothing of system metrics.
      if (request_.kind == MetricKind::System || (key && run->find_metric(*key) != nullptr)) {
        runs_.push_back({run->facts.project, run->facts.id});
      }
    }
    is_kept_ = count_points(group, key) <= kMaxKept;
  }

  Result<void> visit(const std::function<void(const Series&)>& visit) {
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      if (i < kept_.size()) {
        visit(kept_[i]);
        continue;
      }
      request_.run = runs_[i];
      auto series = store_.read_series(request_);
      if (!series && series.error().kind == ErrorKind::NotFound) {  // deleted meanwhile
        series = Series();
      }
      Series curve = KEDGE_TRY(std::move(series));
      visit(curve);
      if (is_kept_) {
        kept_.push_back(std::move(curve));
      }
    }
    return {};
  }

 private:
  const Store& store_;
  SeriesRequest request_;
  std::vector<RunKey> runs_;
  std::vector<Series> kept_;
  bool is_kept_ = true;
};

Result<GroupCurve> sum_up_curves(const Store& store, GroupedRuns group, SeriesRequest request,
                                 std::optional<KeyId> key, bool is_sampled) {
  // The order of a search must not change the last digit of a mean.
  std::ranges::sort(group.runs, {}, [](const EntryPointer& run) { return run->row; });
  const std::size_t point_count = request.points;
  request.points = is_sampled ? 2 * point_count : 0;
  MemberCurves members(store, group, std::move(request), key);
  GroupCurve curve{.values = std::move(group.values), .run_count = group.runs.size()};
  Result<void> is_read;
  const CurveGrid grid(point_count, [&](const std::function<void(const Series&)>& visit) {
    is_read = members.visit([&](const Series& series) {
      curve.curve_count += series.x.empty() ? 0 : 1;
      visit(series);
    });
  });
  KEDGE_TRY(std::move(is_read));
  std::vector<Spread> spreads(grid.places().size());
  KEDGE_TRY(members.visit([&](const Series& series) { grid.add(series, spreads); }));
  for (std::size_t i = 0; i < spreads.size(); ++i) {
    if (spreads[i].count() > 0) {
      curve.x.push_back(grid.places()[i]);
      curve.y.push_back(spreads[i]);
    }
  }
  curve.is_binned = grid.is_binned();
  curve.is_sampled = is_sampled;
  return curve;
}

// The wanted ones, or the largest; equally large ones by their values.
std::vector<GroupedRuns> choose_groups(std::vector<GroupedRuns> groups,
                                       const GroupCurvesRequest& request) {
  if (!request.only.empty()) {
    std::set<std::string> wanted;
    for (const GroupValues& values : request.only) {
      wanted.insert(key_of_values(values));
    }
    std::erase_if(groups, [&](const GroupedRuns& group) {
      return !wanted.contains(key_of_values(group.values));
    });
  }
  std::ranges::sort(groups, [](const GroupedRuns& a, const GroupedRuns& b) {
    return std::tuple(b.runs.size(), key_of_values(a.values)) <
           std::tuple(a.runs.size(), key_of_values(b.values));
  });
  groups.resize(std::min(groups.size(), request.search.limit));
  return groups;
}

}  // namespace

Result<GroupCurves> Store::group_curves(const GroupCurvesRequest& request,
                                        std::int64_t now_us) const {
  const RunIndex& index = impl_->index;
  const auto by = KEDGE_TRY(bind_fields(request.by, index));
  Search search = request.search;
  search.limit = std::numeric_limits<std::size_t>::max();
  search.offset = 0;
  search.order.clear();
  const FoundRuns found = KEDGE_TRY(index.search(search, now_us));
  std::vector<GroupedRuns> groups = split_runs(found.runs, by);
  GroupCurves answer{.groups = {}, .total = groups.size()};
  const auto key = index.find_metric(request.curve.key);
  groups = choose_groups(std::move(groups), request);
  std::uint64_t point_count = 0;
  for (const GroupedRuns& group : groups) {
    point_count += count_points(group, key);
  }
  for (GroupedRuns& group : groups) {
    answer.groups.push_back(KEDGE_TRY(
        sum_up_curves(*this, std::move(group), request.curve, key, point_count > kMaxRead)));
  }
  return answer;
}

}  // namespace kedge::store
