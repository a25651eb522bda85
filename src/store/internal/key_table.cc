#include "store/internal/key_table.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "store/run.h"

namespace kedge::store {
namespace {

using nlohmann::json;

// A config that nests deeper is cut there: its deeper parts are values as JSON text.
constexpr int kMaxDepth = 16;

std::string dump(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

void flatten_into(const json& value, const std::string& prefix, int depth,
                  const std::function<void(const std::string&, const json&)>& visit) {
  if (!value.is_object() || depth == kMaxDepth) {
    visit(prefix, value);
    return;
  }
  for (const auto& [key, item] : value.items()) {
    flatten_into(item, prefix.empty() ? key : prefix + "." + key, depth + 1, visit);
  }
}

void sort_by_key(KeyedValues& values) {
  std::ranges::stable_sort(values, {}, &KeyedValue::key);
  // "a.b" and {"a": {"b": ...}} are one name: the last one counts.
  KeyedValues unique;
  for (const KeyedValue* value : values) {
    if (!unique.empty() && unique.back()->key == value->key) {
      unique.back() = value;
    } else {
      unique.push_back(value);
    }
  }
  values = std::move(unique);
}

}  // namespace

KeyId KeyTable::add(std::string_view key) {
  const std::lock_guard lock(mutex_);
  const auto found = ids_.find(key);
  if (found != ids_.end()) {
    return found->second;
  }
  const auto id = static_cast<KeyId>(names_.size());
  names_.push_back(&ids_.emplace(std::string(key), id).first->first);
  return id;
}

std::optional<KeyId> KeyTable::find(std::string_view key) const {
  const std::lock_guard lock(mutex_);
  const auto found = ids_.find(key);
  return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

std::string KeyTable::name(KeyId id) const {
  const std::lock_guard lock(mutex_);
  return *names_.at(id);
}

std::vector<std::string> KeyTable::names() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  names.reserve(names_.size());
  for (const std::string* name : names_) {
    names.push_back(*name);
  }
  return names;
}

const KeyedValue* ValuePool::add(KeyId key, const json& value) {
  // A number and the text of that number differ by the quotes of JSON.
  std::string text = dump(value);
  const std::string name = fmt::format("{}:{}", key, text);
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(name);
  if (found != known_.end()) {
    return found->second;
  }
  KeyedValue entry{.key = key, .value = {}};
  constexpr auto kMaxInt = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (value.is_null()) {
    entry.value = nullptr;
  } else if (value.is_boolean()) {
    entry.value = value.get<bool>();
  } else if (value.is_number_unsigned() && value.get<std::uint64_t>() > kMaxInt) {
    entry.value = value.get<double>();
  } else if (value.is_number_integer()) {
    entry.value = value.get<std::int64_t>();
  } else if (value.is_number()) {
    entry.value = value.get<double>();
  } else {
    texts_.push_back(value.is_string() ? value.get<std::string>() : std::move(text));
    entry.value = std::string_view(texts_.back());
  }
  values_.push_back(entry);
  known_.emplace(name, &values_.back());
  return &values_.back();
}

const KeyedValue* find_value(const KeyedValues& values, KeyId key) {
  const auto found = std::ranges::lower_bound(values, key, {}, &KeyedValue::key);
  return found != values.end() && (*found)->key == key ? *found : nullptr;
}

KeyedValues flatten(const json& value, KeyTable& keys, ValuePool& pool) {
  KeyedValues values;
  if (value.is_object()) {
    flatten_into(value, "", 0, [&](const std::string& key, const json& item) {
      values.push_back(pool.add(keys.add(key), item));
    });
  }
  sort_by_key(values);
  return values;
}

KeyedValues flatten_top(const json& value, KeyTable& keys, ValuePool& pool) {
  KeyedValues values;
  if (value.is_object()) {
    for (const auto& [key, item] : value.items()) {
      values.push_back(pool.add(keys.add(key), item));
    }
  }
  sort_by_key(values);
  return values;
}

json render_value(const QueryValue& value) {
  return std::visit(
      [](const auto& item) -> json {
        using T = std::decay_t<decltype(item)>;
        if constexpr (std::is_same_v<T, std::monostate>) {
          return nullptr;
        } else if constexpr (std::is_same_v<T, double>) {
          return render_number(item);
        } else {
          return item;
        }
      },
      value);
}

}  // namespace kedge::store
