#include "store/internal/live_run.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/chunk.h"
#include "store/internal/text.h"

namespace kedge::store {

void add_points(MetricSummary& summary, const Points& points, std::int64_t last_kept_step) {
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (points.steps[i] <= last_kept_step) {
      add_to(summary, points.steps[i], points.times_us[i], points.values[i]);
    }
  }
}

void add_summary(MetricSummary& summary, const MetricSummary& other) {
  if (other.count == 0) {
    return;
  }
  if (summary.count == 0) {
    summary = other;
    return;
  }
  if (is_later(summary, other.last_step, other.last_us)) {
    summary.last = other.last;
    summary.last_step = other.last_step;
    summary.last_us = other.last_us;
  }
  // Comparisons with NaN are false, and a NaN here gives way.
  if (other.min < summary.min || summary.min != summary.min) {
    summary.min = other.min;
  }
  if (other.max > summary.max || summary.max != summary.max) {
    summary.max = other.max;
  }
  summary.count += other.count;
}

namespace {

KeyedSummary keyed(KeyId key, const MetricSummary& whole) {
  return {.key = key,
          .last_step = whole.last_step,
          .count = whole.count,
          .last = whole.last,
          .min = whole.min,
          .max = whole.max,
          .last_us = whole.last_us};
}

}  // namespace

std::vector<KeyedSummary> sum_up(std::vector<AttemptSummary> parts) {
  std::ranges::sort(parts, {},
                    [](const AttemptSummary& part) { return std::pair(part.key, part.attempt); });
  std::vector<KeyedSummary> sums;
  for (std::size_t i = 0; i < parts.size();) {
    MetricSummary whole;
    const KeyId key = parts[i].key;
    for (; i < parts.size() && parts[i].key == key; ++i) {
      add_summary(whole, parts[i].kept);
    }
    sums.push_back(keyed(key, whole));
  }
  return sums;
}

std::vector<KeyedSummary> sum_up(const LiveRun& run) {
  std::vector<AttemptSummary> parts;
  parts.reserve(run.series.size());
  for (const LiveSeries& series : run.series) {
    if (series.kind == MetricKind::Metric && series.kept.count > 0) {
      parts.push_back({series.key, series.attempt, series.kept});
    }
  }
  return sum_up(std::move(parts));
}

void sum_up_again(std::vector<KeyedSummary>& sums, const LiveRun& run,
                  std::span<const std::size_t> places) {
  for (const std::size_t place : places) {
    const LiveSeries& changed = run.series[place];
    if (changed.kind != MetricKind::Metric) {
      continue;
    }
    MetricSummary whole;
    for (const auto& [attempt_and_kind, names] : run.places) {  // attempts in their order
      const auto found =
          attempt_and_kind.second == MetricKind::Metric ? names.find(changed.name) : names.end();
      if (found != names.end()) {
        add_summary(whole, run.series[found->second].kept);
      }
    }
    const auto at = std::ranges::lower_bound(sums, changed.key, {}, &KeyedSummary::key);
    if (at != sums.end() && at->key == changed.key) {
      *at = keyed(changed.key, whole);
    } else if (whole.count > 0) {
      sums.insert(at, keyed(changed.key, whole));
    }
  }
}

void catch_up(RunFacts& facts, const LiveRun& run) {
  facts.heartbeat_us = std::max(facts.heartbeat_us, run.heartbeat_us);
  for (const LiveSeries& series : run.series) {
    if (series.kind == MetricKind::Metric && series.attempt == facts.attempt) {
      for (const std::int64_t step : series.tail.steps) {
        facts.last_step = std::max(facts.last_step.value_or(step), step);
      }
    }
  }
}

std::size_t find_or_add_series(LiveRun& run, int attempt, MetricKind kind, std::string_view name,
                               KeyTable& keys) {
  const auto places = run.places.find({attempt, kind});
  if (places != run.places.end()) {
    if (const auto found = places->second.find(name); found != places->second.end()) {
      return found->second;
    }
  }
  const std::string clean = make_valid_text(name);
  const std::lock_guard lock(run.mutex);
  auto& names = run.places[{attempt, kind}];
  const auto [found, is_new] = names.try_emplace(clean, run.series.size());
  const std::size_t place = found->second;
  if (clean != name) {
    names.emplace(std::string(name), place);
  }
  if (is_new) {
    LiveSeries series;
    series.name = clean;
    series.attempt = attempt;
    series.kind = kind;
    if (kind == MetricKind::Metric) {
      series.key = keys.add(clean);
      series.last_kept_step = find_last_kept_step(run.draft->beginnings, attempt);
    }
    run.series.push_back(std::move(series));
  }
  return place;
}

}  // namespace kedge::store
