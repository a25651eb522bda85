// Names and values that many runs share, kept once: a key becomes a number, a (key, value) pair a
// pointer. Nothing is ever taken out.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "store/internal/backends.h"
#include "store/query.h"

namespace kedge::store {

class KeyTable {
 public:
  KeyId add(std::string_view key);
  std::optional<KeyId> find(std::string_view key) const;
  const std::string& name(KeyId id) const;  // lives as long as the table
  std::vector<std::string> names() const;

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::string, KeyId, TextHash, std::equal_to<>> ids_;
  std::vector<const std::string*> names_;  // the keys of ids_, which do not move
};

// A value of a config or of a summary set by hand. It never changes.
struct KeyedValue {
  KeyId key = 0;
  QueryValue value;  // a text belongs to the pool or to what owns this
};

class ValuePool {
 public:
  // Lists and objects are kept as their JSON text.
  const KeyedValue* add(KeyId key, const nlohmann::json& value);

 private:
  std::mutex mutex_;
  std::deque<std::string> texts_;
  std::deque<KeyedValue> values_;
  std::unordered_map<std::string, const KeyedValue*> known_;
};

// Sorted by key, for binary search. Configs are alike and stay: their values are the pool's.
// Summaries are not and change with every step: theirs go with the last run entry that has them.
using ConfigValues = std::vector<const KeyedValue*>;
using SummaryValues = std::vector<std::shared_ptr<const KeyedValue>>;

// By key; where a key is there twice, the last one stays.
void sort_values(ConfigValues& values);

const KeyedValue* find_value(const ConfigValues& values, KeyId key);
const KeyedValue* find_value(const SummaryValues& values, KeyId key);

// {"optimizer": {"lr": 0.1}} as "optimizer.lr": 0.1. Lists stay whole.
ConfigValues flatten_config(const nlohmann::json& json, KeyTable& keys, ValuePool& pool);

// The keys of the object are the names. "NaN" and the like are numbers.
SummaryValues flatten_summary(const nlohmann::json& json, KeyTable& keys);

// As they stand: "NaN" is a text here.
SummaryValues flatten_labels(const nlohmann::json& json, KeyTable& keys);

nlohmann::json render_value(const QueryValue& value);

}  // namespace kedge::store
