#include "store/internal/run_entry.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "store/query.h"

namespace kedge::store {

std::int64_t find_last_kept_step(const std::vector<Beginning>& beginnings, int attempt) {
  std::int64_t last = std::numeric_limits<std::int64_t>::max();
  for (const Beginning& later : beginnings) {
    if (later.attempt > attempt) {
      last = std::min(last, later.from_step);
    }
  }
  return last;
}

QueryValue RunEntry::fact(RunFact fact) const {
  const auto time = [](std::int64_t us) { return us == 0 ? QueryValue() : QueryValue(us); };
  switch (fact) {
    case RunFact::Id:
      return facts.id;
    case RunFact::Name:
      return facts.name;
    case RunFact::Project:
      return facts.project;
    case RunFact::State:
      return name_of(facts.state);
    case RunFact::User:
      return facts.user;
    case RunFact::Host:
      return facts.host;
    case RunFact::Group:
      return facts.group;
    case RunFact::JobType:
      return facts.job_type;
    case RunFact::Source:
      return facts.source;
    case RunFact::Notes:
      return facts.notes;
    case RunFact::Parent:
      return facts.parent;
    case RunFact::Sweep:
      return facts.sweep;
    case RunFact::Created:
      return time(facts.created_us);
    case RunFact::Ended:
      return time(facts.ended_us);
    case RunFact::Heartbeat:
      return time(facts.heartbeat_us);
    case RunFact::Duration: {
      const std::int64_t end = facts.ended_us != 0 ? facts.ended_us : facts.heartbeat_us;
      return static_cast<double>(std::max<std::int64_t>(end - facts.created_us, 0)) * 1e-6;
    }
    case RunFact::Attempt:
      return std::int64_t{facts.attempt};
    case RunFact::LastStep:
      return facts.last_step ? QueryValue(*facts.last_step) : QueryValue();
  }
  return {};
}

QueryValue RunEntry::config(KeyId key) const {
  const KeyedValue* found = find_value(config_values, key);
  return found == nullptr ? QueryValue() : found->value;
}

QueryValue RunEntry::summary(KeyId key, SummaryPart part) const {
  if (part == SummaryPart::Last && !summary_values.empty()) {
    if (const KeyedValue* found = find_value(summary_values, key)) {
      return found->value;
    }
  }
  const KeyedSummary* found = find_metric(key);
  if (found == nullptr) {
    return {};
  }
  switch (part) {
    case SummaryPart::Last:
      return found->last;
    case SummaryPart::Min:
      return found->min;
    case SummaryPart::Max:
      return found->max;
    case SummaryPart::Count:
      return static_cast<std::int64_t>(found->count);
    case SummaryPart::LastStep:
      return found->last_step;
  }
  return {};
}

QueryValue RunEntry::label(KeyId key) const {
  const KeyedValue* found = find_value(label_values, key);
  return found == nullptr ? QueryValue() : found->value;
}

const KeyedSummary* RunEntry::find_metric(KeyId key) const {
  const auto found = std::ranges::lower_bound(metrics, key, {}, &KeyedSummary::key);
  return found != metrics.end() && found->key == key ? &*found : nullptr;
}

}  // namespace kedge::store
