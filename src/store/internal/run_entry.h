// What lists and searches know of a run, kept in memory. An entry never changes: a changed run gets
// a new one, so that a search needs no lock while it looks at thousands of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "store/internal/key_table.h"
#include "store/query.h"
#include "store/run.h"

namespace kedge::store {

struct KeyedSummary {
  KeyId key = 0;
  std::int64_t last_step = 0;
  std::uint64_t count = 0;
  double last = 0;
  double min = 0;
  double max = 0;
  std::int64_t last_us = 0;
};

// A later attempt of a run, and the step it went on from.
struct Beginning {
  int attempt = 1;
  std::int64_t from_step = 0;
};

// The last step of an attempt that no later attempt has replaced.
std::int64_t find_last_kept_step(const std::vector<Beginning>& beginnings, int attempt);

class RunEntry final : public QueriedRun {
 public:
  std::int64_t row = 0;  // its number in the table
  std::size_t slot = 0;  // its place in the index
  RunFacts facts;
  ConfigValues config_values;
  SummaryValues summary_values;  // set by hand; they go before the metrics
  SummaryValues label_values;
  std::vector<KeyedSummary> metrics;       // sorted by key
  std::vector<Beginning> beginnings = {};  // in order of attempts

  QueryValue fact(RunFact fact) const override;
  QueryValue config(KeyId key) const override;
  QueryValue summary(KeyId key, SummaryPart part) const override;
  QueryValue label(KeyId key) const override;

  std::size_t tag_count() const override { return facts.tags.size(); }

  std::string_view tag(std::size_t index) const override { return facts.tags[index]; }

  const KeyedSummary* find_metric(KeyId key) const;
};

}  // namespace kedge::store
