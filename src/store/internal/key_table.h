// Names and values that many runs share, kept once: a key becomes a number, a (key, value) pair a
// pointer. Nothing is ever taken out.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <nlohmann/json.hpp>

#include "store/internal/backends.h"
#include "store/query.h"

namespace kedge::store {

class KeyTable {
 public:
  KeyId add(std::string_view key);
  std::optional<KeyId> find(std::string_view key) const;
  std::string name(KeyId id) const;
  std::vector<std::string> names() const;

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::string, KeyId, TextHash, std::equal_to<>> ids_;
  std::vector<const std::string*> names_;  // the keys of ids_, which do not move
};

// A value of a config or of a summary set by hand. Immutable once it is in the pool.
struct KeyedValue {
  KeyId key = 0;
  QueryValue value;  // a text is the pool's
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

// Sorted by key, for binary search.
using KeyedValues = std::vector<const KeyedValue*>;

const KeyedValue* find_value(const KeyedValues& values, KeyId key);

// {"optimizer": {"lr": 0.1}} as "optimizer.lr": 0.1. Lists stay whole.
KeyedValues flatten(const nlohmann::json& json, KeyTable& keys, ValuePool& pool);

// The same without nesting: the keys of the object are the names.
KeyedValues flatten_top(const nlohmann::json& json, KeyTable& keys, ValuePool& pool);

nlohmann::json render_value(const QueryValue& value);

}  // namespace kedge::store
